"""An object store: answers each request for N bytes after a while. `python -m tests.lab.objects PORT MILLISECONDS`."""

from __future__ import annotations

import socketserver
import sys
import time


class _Answers(socketserver.BaseRequestHandler):
    pause_s = 0.0

    def handle(self) -> None:
        while True:
            asked = self.request.recv(8, 0x100)  # MSG_WAITALL
            if len(asked) < 8:
                return
            time.sleep(self.pause_s)
            self.request.sendall(bytes(int.from_bytes(asked, "little")))


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def main() -> None:
    _Answers.pause_s = float(sys.argv[2]) / 1000
    with _Server(("0.0.0.0", int(sys.argv[1])), _Answers) as server:
        print("ready", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
