"""What a thread waits for, by the kernel function it sleeps in (/proc/PID/wchan)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iodash.model.members import WaitKind

_KINDS: tuple[tuple[WaitKind, tuple[str, ...]], ...] = (
    ("fuse", ("fuse_", "request_wait_answer", "virtio_fs")),
    (
        "network",
        ("rpc_", "nfs", "cifs", "smb", "wait_for_response", "ceph", "netfs_", "p9_", "lustre", "cl_", "ptlrpc"),
    ),
    (
        "writeback",
        (
            "folio_wait_writeback",
            "wait_on_page_writeback",
            "balance_dirty",
            "jbd2_log_wait",
            "jbd2_journal",
            "wait_transaction",
            "wb_wait",
            "filemap_fdatawait",
            "xfs_log",
            "xlog_",
            "file_write_and_wait",
            "ext4_sync",
            "btrfs_sync",
            "blkdev_issue_flush",
        ),
    ),
    (
        "memory",
        (
            "throttle_direct_reclaim",
            "mem_cgroup_handle_over_high",
            "shrink_",
            "try_to_free",
            "reclaim_throttle",
            "congestion_wait",
            "do_swap_page",
            "swap_read",
            "swapin",
            "__alloc_pages",
        ),
    ),
    (
        "block",
        (
            "io_schedule",
            "folio_wait_bit",
            "wait_on_page_bit",
            "folio_lock",
            "__lock_page",
            "blk",
            "rq_qos",
            "__blkdev",
            "submit_bio_wait",
            "iomap_",
            "wait_on_buffer",
            "__wait_on_buffer",
            "bit_wait_io",
            "do_blockdev",
            "dio_",
            "get_request",
            "throtl",
            "filemap_",
            "page_cache_ra",
            "read_cache",
            "io_cqring_wait",
            "read_events",
            "aio_",
        ),
    ),
    ("socket", ("sk_wait", "wait_woken", "tcp_", "inet_", "udp_", "__skb_wait", "skb_")),
    (
        "queue",
        (
            "pipe_",
            "anon_pipe",
            "futex_",
            "unix_stream",
            "do_poll",
            "poll_schedule",
            "do_sys_poll",
            "ep_poll",
            "do_epoll",
            "do_select",
            "sem",
            "do_wait",
            "eventfd",
            "msg",
        ),
    ),
)


@lru_cache(maxsize=512)
def wait_kind(wchan: bytes) -> WaitKind | None:
    """The kind of a wait; None where the kernel names no function (`0`: running, or no right to see it)."""
    if not wchan or wchan == b"0":
        return None
    name = wchan.decode("ascii", "replace").lstrip("_")
    for kind, prefixes in _KINDS:
        if any(name.startswith(prefix.lstrip("_")) for prefix in prefixes):
            return kind
    return "other"
