// Package deploy tests what is handed to operators: the image, the compose file, and the cluster that it describes. It holds tests
// alone.
package deploy
