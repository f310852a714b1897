"""Runs a program on a terminal that is read until some words stand there and then no more; sends it a signal once its
output is stuck, and prints how it ended. Arguments: signal, words, program and its arguments."""
import fcntl, os, pty, signal, struct, sys, termios, time

number, words, command = getattr(signal, sys.argv[1]), sys.argv[2].encode(), sys.argv[3:]
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    os.execvp(command[0], command)
seen = b""
while words not in seen:
    seen += os.read(terminal, 65536)
os.set_blocking(terminal, False)
# screens that differ, until the terminal takes no key any more or has surely had enough
for key in 100 * [b"2", b"3", b"4", b"5", b"1"]:
    try:
        os.write(terminal, key)
    except BlockingIOError:
        break
    time.sleep(0.01)
os.kill(child, number)
started = time.monotonic()
while time.monotonic() - started < 10:
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        print("ended", round(time.monotonic() - started, 1))
        sys.exit()
    time.sleep(0.05)
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
print("stuck")
