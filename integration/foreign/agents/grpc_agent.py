"""A gRPC server with grpcio, whose messages were never made for Agent-Reach: one unary method, one that streams.

    python3 grpc_agent.py stats.binpb

It writes its descriptors to the file, as protoc would, and prints "ready HOST:PORT" once it listens, "began" when it begins what is slow,
and "stopped" when that is over.
"""

import sys
import threading
from concurrent import futures

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

STRING, INT32 = descriptor_pb2.FieldDescriptorProto.TYPE_STRING, descriptor_pb2.FieldDescriptorProto.TYPE_INT32
OPTIONAL = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL


def describe():
    """stats.proto, as a descriptor."""
    file = descriptor_pb2.FileDescriptorProto(name="stats.proto", package="stats.v1", syntax="proto3")
    for name, fields in {
        "Text": [("text", STRING)],
        "Counts": [("characters", INT32), ("words", INT32), ("lines", INT32)],
        "Word": [("word", STRING)],
    }.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields, 1):
            message.field.add(name=field, number=number, type=kind, label=OPTIONAL)
    service = file.service.add(name="Stats")
    service.method.add(name="Count", input_type=".stats.v1.Text", output_type=".stats.v1.Counts")
    service.method.add(name="Words", input_type=".stats.v1.Text", output_type=".stats.v1.Word", server_streaming=True)
    return file


file = describe()
pool = descriptor_pool.DescriptorPool()
pool.Add(file)
factory = message_factory.MessageFactory(pool)
Text, Counts, Word = (factory.GetPrototype(pool.FindMessageTypeByName("stats.v1." + n)) for n in ("Text", "Counts", "Word"))


def count(request, context):
    if not request.text:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "text is empty")
    if request.text == "slow":
        given_up = threading.Event()
        context.add_callback(given_up.set)
        print("began", flush=True)
        given_up.wait(30)
        print("stopped", flush=True)
    return Counts(characters=len(request.text), words=len(request.text.split()), lines=request.text.count("\n") + 1)


def words(request, context):
    for word in request.text.split():
        yield Word(word=word)


def main():
    with open(sys.argv[1], "wb") as out:
        out.write(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString())
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("stats.v1.Stats", {
        "Count": grpc.unary_unary_rpc_method_handler(
            count, request_deserializer=Text.FromString, response_serializer=Counts.SerializeToString),
        "Words": grpc.unary_stream_rpc_method_handler(
            words, request_deserializer=Text.FromString, response_serializer=Word.SerializeToString),
    }),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print("ready 127.0.0.1:%d" % port, flush=True)
    server.wait_for_termination()


main()
