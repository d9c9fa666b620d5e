# SPDX-License-Identifier: GPL-2.0
"""One RDMA write between two queue pairs of a device, by pyverbs: pyverbs_write.py DEVICE"""
import sys

try:
    from pyverbs import enums as e
except ImportError:  # rdma-core 57 and later
    from pyverbs import libibverbs_enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

LENGTH = 4096


def constant(name):
    """Constants of newer releases are members of their enums"""
    for place in (e, *vars(e).values()):
        if hasattr(place, name):
            return getattr(place, name)
    raise AttributeError(name)


ACCESS = constant("IBV_ACCESS_LOCAL_WRITE") | constant("IBV_ACCESS_REMOTE_WRITE")


def connect(ctx, qp, peer):
    attr = QPAttr(port_num=1)
    attr.qp_access_flags = ACCESS
    attr.dest_qp_num = peer.qp_num
    attr.path_mtu = constant("IBV_MTU_1024")
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
    attr.min_rnr_timer = 12
    attr.timeout, attr.retry_cnt, attr.rnr_retry = 14, 7, 7
    route = GlobalRoute(dgid=ctx.query_gid(1, 1), sgid_index=1)
    attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
    qp.to_rts(attr)


with Context(name=sys.argv[1]) as ctx:
    ctx.query_device()
    pd = PD(ctx)
    cq = CQ(ctx, 16)
    mrs = [MR(pd, LENGTH, ACCESS) for _ in range(2)]
    init = QPInitAttr(qp_type=constant("IBV_QPT_RC"), scq=cq, rcq=cq, cap=QPCap(max_send_wr=4, max_recv_wr=4))
    qps = [QP(pd, init) for _ in range(2)]
    for qp, peer in zip(qps, reversed(qps)):
        connect(ctx, qp, peer)
    mrs[0].write("x" * LENGTH, LENGTH)
    sge = SGE(mrs[0].buf, LENGTH, mrs[0].lkey)
    wr = SendWR(1, opcode=constant("IBV_WR_RDMA_WRITE"), num_sge=1, sg=[sge])
    wr.set_wr_rdma(mrs[1].rkey, mrs[1].buf)
    qps[0].post_send(wr)
    done = 0
    while not done:
        done, wcs = cq.poll()
    assert wcs[0].status == constant("IBV_WC_SUCCESS"), wcs[0]
    assert mrs[1].read(LENGTH, 0) == b"x" * LENGTH
    print("written")
