#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Reliable datagrams (RDS) for tests/guest/73-rds.sh.

rds.py messages ADDRESS N   one socket sends N datagrams of many sizes to another, which compares them
rds.py remote ADDRESS SIZE  one socket registers memory, and the other one writes to it and reads from it
rds.py hold ADDRESS         sends until the connection is gone for good
"""

import ctypes
import os
import socket
import struct
import sys
import threading

SOL_RDS = 276
CMSG_RDMA_ARGS, CMSG_RDMA_DEST, CMSG_RDMA_MAP, CMSG_RDMA_STATUS = 1, 2, 3, 4
READ_WRITE, NOTIFY = 1, 0x20


def rds_socket(address, port):
    sock = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET, 0)
    sock.bind((address, port))
    return sock


def messages(address, count):
    sender, receiver = rds_socket(address, 4001), rds_socket(address, 4002)
    sent = [os.urandom(1 + n * 7919 % 100000 if n % 4 == 0 else n * 37 % 5000) for n in range(count)]

    def send():
        for message in sent:
            sender.sendto(message, (address, 4002))

    thread = threading.Thread(target=send)
    thread.start()
    for n, message in enumerate(sent):
        got, source = receiver.recvfrom(1 << 20)
        if got != message or source != (address, 4001):
            sys.exit("message %d of %d bytes: %d bytes came from %s" % (n, len(message), len(got), source))
    thread.join()
    print("%d messages of %d bytes" % (count, sum(map(len, sent))))


def region(size, data=None):
    """Returns an array that has room for the bytes, and their address, which is not that of a page."""
    array = ctypes.create_string_buffer(size + 8192)
    at = ctypes.addressof(array) + -ctypes.addressof(array) % 4096 + 100
    if data:
        ctypes.memmove(at, data, size)
    return array, at


def control(sock, wanted):
    """Returns what the kernel says beside the next message."""
    message, ancillary, _, _ = sock.recvmsg(100, 1000)
    for level, kind, data in ancillary:
        if (level, kind) == (SOL_RDS, wanted):
            return data
    sys.exit("nothing of kind %d came with %r, but %r" % (wanted, message, ancillary))


def transfer(sock, peer, cookie, at, size, flags):
    """Reads from or writes to the region of the peer, and waits for the kernel to say that it has done so."""
    vector = struct.pack("=QQ", at, size)
    array, vector_at = region(len(vector), vector)
    sock.sendmsg([b"done"], [(SOL_RDS, CMSG_RDMA_ARGS,
                              struct.pack("=QQQQQQQ", cookie, 0, size, vector_at, 1, flags | NOTIFY, 77))], 0, peer)
    del array
    token, status = struct.unpack("=Qi", control(sock, CMSG_RDMA_STATUS)[:12])
    if (token, status) != (77, 0):
        sys.exit("transfer %d has status %d" % (token, status))


def remote(address, size):
    active, passive = rds_socket(address, 4003), rds_socket(address, 4004)
    # Memory is registered for a connection, so there has to be one.
    passive.sendto(b"hello", (address, 4003))
    active.recv(100)
    array, at = region(size)
    cookie_array, cookie_at = region(8)
    passive.sendmsg([b"memory"], [(SOL_RDS, CMSG_RDMA_MAP, struct.pack("=QQQQ", at, size, cookie_at, READ_WRITE))], 0,
                    (address, 4003))
    cookie = struct.unpack("=Q", control(active, CMSG_RDMA_DEST))[0]
    sent = os.urandom(size)
    source, source_at = region(size, sent)
    transfer(active, (address, 4004), cookie, source_at, size, READ_WRITE)
    if passive.recv(100) != b"done" or ctypes.string_at(at, size) != sent:
        sys.exit("other bytes were written")
    sink, sink_at = region(size)
    transfer(active, (address, 4004), cookie, sink_at, size, 0)
    if ctypes.string_at(sink_at, size) != sent:
        sys.exit("other bytes were read")
    del array, cookie_array, source, sink


def hold(address):
    sender, receiver = rds_socket(address, 4005), rds_socket(address, 4006)
    receiver.settimeout(5)

    def send():
        while True:
            sender.sendto(bytes(50000), (address, 4006))

    threading.Thread(target=send, daemon=True).start()
    try:
        while True:
            receiver.recv(1 << 20)
            print("message", flush=True)
    except OSError as error:
        print(error)


{"messages": messages, "remote": remote, "hold": hold}[sys.argv[1]](sys.argv[2], *map(int, sys.argv[3:]))
