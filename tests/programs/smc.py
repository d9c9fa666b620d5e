#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""TCP over shared memory (SMC) for tests/guest/73-smc.sh.

smc.py name NAME                     this host shares memory with hosts that have the name, too
smc.py server ADDRESS PORT           sends back what it gets
smc.py client ADDRESS PORT N BYTES   compares what comes back, over N connections at once
smc.py hold ADDRESS PORT             sends until the connection breaks
"""

import ctypes
import os
import socket
import struct
import sys
import threading

AF_SMC = 43
CTRL_GETFAMILY, ATTR_FAMILY_ID, ATTR_FAMILY_NAME = 3, 1, 2
NETLINK_GENERIC, NLM_F_REQUEST, NLM_F_ACK, NLMSG_ERROR = 16, 1, 4, 2
SMC_ADD_UEID, SMC_EID = 10, 1


def smc_socket():
    # Python knows no addresses of AF_SMC, but they are those of AF_INET.
    fd = ctypes.CDLL(None, use_errno=True).socket(AF_SMC, socket.SOCK_STREAM, 0)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "AF_SMC")
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fd)


def netlink(sock, kind, command, attribute, value):
    """Sends one string to a family, and returns the answer without its header."""
    value = struct.pack("=HH", 4 + len(value), attribute) + value + bytes(-len(value) % 4)
    message = struct.pack("=BBH", command, 1, 0) + value
    sock.send(struct.pack("=IHHII", 16 + len(message), kind, NLM_F_REQUEST | NLM_F_ACK, 1, 0) + message)
    answer = sock.recv(65536)
    if struct.unpack_from("=H", answer, 4)[0] == NLMSG_ERROR:
        error = -struct.unpack_from("=i", answer, 16)[0]
        if error:
            raise OSError(error, os.strerror(error))
    return answer[20:]


def family(sock, name):
    answer, at = netlink(sock, 16, CTRL_GETFAMILY, ATTR_FAMILY_NAME, name + b"\0"), 0
    sock.recv(65536)
    while at < len(answer):
        length, kind = struct.unpack_from("=HH", answer, at)
        if kind == ATTR_FAMILY_ID:
            return struct.unpack_from("=H", answer, at + 4)[0]
        at += length + -length % 4
    sys.exit("no family %s" % name)


def add_name(name):
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
    netlink(sock, family(sock, b"SMC_GEN_NETLINK"), SMC_ADD_UEID, SMC_EID, name.encode().ljust(32) + b"\0")


def send_back(sock):
    with sock:
        while data := sock.recv(65536):
            sock.sendall(data)


def server(address, port):
    listener = smc_socket()
    listener.bind((address, port))
    listener.listen(64)
    while True:
        threading.Thread(target=send_back, args=(listener.accept()[0],), daemon=True).start()


def connected(address, port):
    sock = smc_socket()
    sock.connect((address, port))
    return sock


def echo(sock, size, failed):
    """Messages have many sizes, and leave while earlier ones come back."""
    sent, got = os.urandom(size), bytearray()

    def send():
        at, step = 0, 1
        while at < size:
            sock.sendall(sent[at:at + step])
            at, step = at + step, step % 100003 * 3 + 1
        sock.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send)
    sender.start()
    while data := sock.recv(100000):
        got += data
    sender.join()
    if got != sent:
        failed.append("%d of %d bytes came back, or others" % (len(got), size))


def client(address, port, count, size):
    failed = []
    socks = [connected(address, port) for _ in range(count)]
    threads = [threading.Thread(target=echo, args=(sock, size, failed)) for sock in socks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for sock in socks:
        sock.close()
    sys.exit("\n".join(failed) or 0)


def hold(address, port):
    sock = connected(address, port)
    print("connected", flush=True)
    threading.Thread(target=lambda: [sock.sendall(bytes(100000)) for _ in range(10**9)], daemon=True).start()
    try:
        while sock.recv(65536):
            pass
        print("the connection has ended")
    except OSError as error:
        print(error)


if sys.argv[1] == "name":
    add_name(sys.argv[2])
else:
    {"server": server, "client": client, "hold": hold}[sys.argv[1]](sys.argv[2], *map(int, sys.argv[3:]))
