package integration

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

const module = "github.com/agentreach/agent-reach"

// names are packages of the house, or functions, as the tables of floors_test.go write them.
type names []string

var (
	nothing    = names{}
	everything = names{"..."}
	onlyTests  = names{}
)

type (
	floor struct {
		pkg string
		may names
	}
	owner struct {
		library string
		pkgs    names
	}
	ban struct {
		funcs, in names
		instead   string
	}
	methodBan struct {
		method  string
		args    int
		in      names
		instead string
	}
	importBan struct {
		imports, in names
		instead     string
	}
)

// covers reports whether one of the patterns fits the package.
func (n names) covers(pkg string) bool {
	return slices.ContainsFunc(n, func(pattern string) bool { return fits(pattern, pkg) })
}

func fits(pattern, pkg string) bool {
	if pattern == "..." {
		return true
	}
	if tree, found := strings.CutSuffix(pattern, "/..."); found {
		return within(tree, pkg)
	}
	if parent, found := strings.CutSuffix(pattern, "/*"); found {
		return path.Dir(pkg) == parent
	}
	return pattern == pkg
}

// within reports whether name is tree or lies below it.
func within(tree, name string) bool {
	return name == tree || strings.HasPrefix(name, tree+"/")
}

// source is one Go file.
type source struct {
	path string // from the root, with slashes
	set  *token.FileSet
	file *ast.File
}

func (s source) pkg() string     { return path.Dir(s.path) }
func (s source) isTest() bool    { return strings.HasSuffix(s.path, "_test.go") }
func (s source) inTesting() bool { return s.isTest() || strings.HasSuffix(s.pkg(), "test") }

// at is a finding at a place in the file.
func (s source) at(pos token.Pos, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: ", s.path, s.set.Position(pos).Line) + fmt.Sprintf(format, args...)
}

// readSources parses every Go file of a tree, whatever its build constraints.
func readSources(tree fs.FS) ([]source, error) {
	var sources []source
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && foreign(name):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		s, err := readSource(tree, name)
		sources = append(sources, s)
		return err
	})
	return sources, err
}

func foreign(dir string) bool {
	base := path.Base(dir)
	return base == "testdata" || base == "node_modules" || dir != "." && strings.HasPrefix(base, ".") || builtFolders.covers(dir)
}

func readSource(tree fs.FS, name string) (source, error) {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return source{}, err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return source{path: name, set: set, file: file}, err
}

// violations are all findings about a tree, sorted.
func violations(sources []source) []string {
	var found []string
	for _, s := range sources {
		found = append(found, placeViolations(s)...)
		found = append(found, importViolations(s)...)
		if !s.inTesting() {
			found = append(found, banViolations(s)...)
		}
	}
	found = append(found, commentViolations(sources)...)
	slices.Sort(found)
	return found
}

func placeViolations(s source) []string {
	if s.pkg() == "." {
		return []string{s.path + ": no Go file lives at the root; move it to the package whose job it does"}
	}
	return nil
}

func importViolations(s source) []string {
	var found []string
	for _, spec := range s.file.Imports {
		imported := strings.Trim(spec.Path.Value, "`\"")
		if spec.Name != nil && spec.Name.Name == "." {
			found = append(found, s.at(spec.Pos(), "imports %s into its own names; import it by name", imported))
		}
		if problem := importProblem(s, imported); problem != "" {
			found = append(found, s.at(spec.Pos(), "%s", problem))
		}
	}
	return found
}

func importProblem(s source, imported string) string {
	switch {
	case within(module, imported):
		return houseProblem(s, strings.TrimPrefix(strings.TrimPrefix(imported, module), "/"))
	case strings.Contains(strings.Split(imported, "/")[0], "."):
		return libraryProblem(s, imported)
	case !s.isTest():
		return standardProblem(s, imported)
	}
	return ""
}

func houseProblem(s source, imported string) string {
	pkg := s.pkg()
	row, found := lastRow(floors, pkg)
	if !found {
		return fmt.Sprintf("%s stands on no floor; give it a row in floors", pkg)
	}
	may := row.may
	if s.isTest() {
		extra, _ := lastRow(testFloors, pkg)
		may = slices.Concat(may, extra.may)
	}
	if imported == pkg || may.covers(imported) {
		return ""
	}
	return fmt.Sprintf("%s may not import %s, only %s; declare an interface and let cmd wire the two, or move the code down",
		pkg, imported, orNothing(may))
}

func lastRow(rows []floor, pkg string) (floor, bool) {
	for _, row := range slices.Backward(rows) {
		if fits(row.pkg, pkg) {
			return row, true
		}
	}
	return floor{}, false
}

func libraryProblem(s source, imported string) string {
	row, found := ownerOf(imported)
	switch {
	case !found:
		return fmt.Sprintf("nobody owns %s; do without it, or give it a row in owners", imported)
	case row.pkgs.covers(s.pkg()):
		return ""
	case len(row.pkgs) == 0 && s.inTesting():
		return ""
	case len(row.pkgs) == 0:
		return fmt.Sprintf("%s is for tests alone", imported)
	}
	return fmt.Sprintf("%s belongs to %s; use what that offers, or add there what is missing", imported, orNothing(row.pkgs))
}

func ownerOf(imported string) (owner, bool) {
	var longest owner
	for _, row := range owners {
		if within(row.library, imported) && len(row.library) > len(longest.library) {
			longest = row
		}
	}
	return longest, longest.library != ""
}

func standardProblem(s source, imported string) string {
	for _, b := range importBans {
		if slices.Contains(b.imports, imported) && b.in.covers(s.pkg()) {
			return fmt.Sprintf("%s does not import %s; %s", s.pkg(), imported, b.instead)
		}
	}
	return ""
}

func banViolations(s source) []string {
	var found []string
	imported := importNames(s.file)
	ast.Inspect(s.file, func(node ast.Node) bool {
		problem := ""
		switch node := node.(type) {
		case *ast.SelectorExpr:
			problem = funcProblem(s, imported, node)
		case *ast.CallExpr:
			problem = methodProblem(s, imported, node)
		}
		if problem != "" {
			found = append(found, s.at(node.Pos(), "%s", problem))
		}
		return true
	})
	return found
}

// importNames maps the name by which a file knows a package to its path.
func importNames(file *ast.File) map[string]string {
	known := make(map[string]string)
	for _, spec := range file.Imports {
		imported := strings.Trim(spec.Path.Value, "`\"")
		if spec.Name != nil {
			known[spec.Name.Name] = imported
		} else {
			known[path.Base(imported)] = imported
		}
	}
	return known
}

func funcProblem(s source, imported map[string]string, selector *ast.SelectorExpr) string {
	receiver, isName := selector.X.(*ast.Ident)
	if !isName || imported[receiver.Name] == "" {
		return ""
	}
	name := imported[receiver.Name] + "." + selector.Sel.Name
	for _, b := range bans {
		if slices.Contains(b.funcs, name) && b.in.covers(s.pkg()) {
			return fmt.Sprintf("%s is not used here; %s", name, b.instead)
		}
	}
	return ""
}

func methodProblem(s source, imported map[string]string, call *ast.CallExpr) string {
	selector, isSelector := call.Fun.(*ast.SelectorExpr)
	if !isSelector {
		return ""
	}
	if receiver, isName := selector.X.(*ast.Ident); isName && imported[receiver.Name] != "" {
		return ""
	}
	for _, b := range methodBans {
		if selector.Sel.Name == b.method && len(call.Args) >= b.args && b.in.covers(s.pkg()) {
			return fmt.Sprintf("%s shows a whole value; %s", b.method, b.instead)
		}
	}
	return ""
}

// commentViolations names the packages without a comment. Only a package that is all tests may have its comment in one.
func commentViolations(sources []source) []string {
	commented, hasCode := make(map[string]bool), make(map[string]bool)
	for _, s := range sources {
		hasCode[s.pkg()] = hasCode[s.pkg()] || !s.isTest()
	}
	for _, s := range sources {
		counts := !s.isTest() || !hasCode[s.pkg()]
		commented[s.pkg()] = commented[s.pkg()] || counts && s.file.Doc != nil
	}
	var found []string
	for pkg := range commented {
		if !commented[pkg] {
			found = append(found, pkg+": has no package comment; open it with one paragraph on its job")
		}
	}
	return found
}

func folderViolations(entries []fs.DirEntry) []string {
	var found []string
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() && !foreign(name) && !folders.covers(name) {
			found = append(found, name+": is no folder of the house, which are "+orNothing(folders)+"; move its files into one of them")
		}
	}
	return found
}

func orNothing(n names) string { return cmp.Or(strings.Join(n, ", "), "nothing of the house") }
