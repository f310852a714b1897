/**
 * The load as a small program in C: on a machine of two cores a client in JavaScript takes a tenth of what it measures.
 * It reads all requests from its standard input, opens its connections, and sends each request after the answer before.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { hasCompiler } from '../../hub/testing/disk.ts'

export type Load = { perSecond: number; p50Ms: number; p99Ms: number; failed: number }

const SOURCE = `
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { REPLY_MAX = 65536, AT_ONCE = 64 };
typedef struct { int fd; double sent_ms; size_t got; char reply[REPLY_MAX]; } client;
static unsigned char *next, *end;

static void die(const char *what) { perror(what); exit(1); }

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* Each request is its length in four bytes, little end first, then itself. */
static unsigned length_at(const unsigned char *at) {
  return at[0] | at[1] << 8 | at[2] << 16 | (unsigned)at[3] << 24;
}

static void read_requests(void) {
  size_t size = 0, room = 1 << 20;
  unsigned char *all = malloc(room);
  for (ssize_t n; (n = read(0, all + size, room - size)) != 0; size += n) {
    if (n < 0) die("read requests");
    if (size + n == room && !(all = realloc(all, room *= 2))) die("memory");
  }
  next = all;
  end = all + size;
}

static void send_next(client *c) {
  if (next == end) return;
  unsigned char *at = next + 4;
  next = at + length_at(next);
  c->got = 0;
  c->sent_ms = now_ms();
  for (ssize_t n; at < next; at += n)
    if ((n = write(c->fd, at, next - at)) <= 0) die("write");
}

/* The status of the answer when it is whole, else 0. */
static int status_of(client *c) {
  c->reply[c->got] = 0;
  char *body = strstr(c->reply, "\\r\\n\\r\\n");
  if (!body) return 0;
  char *length = strcasestr(c->reply, "content-length: ");
  size_t have = c->got - (body + 4 - c->reply);
  int whole = length && length < body ? have >= strtoul(length + 16, NULL, 10)
                                      : have >= 5 && !memcmp(c->reply + c->got - 5, "0\\r\\n\\r\\n", 5);
  return whole ? atoi(c->reply + 9) : 0;
}

static void open_all(client *clients, int count, int port, int ready) {
  struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int i = 0, on = 1; i < count; i++) {
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = &clients[i] };
    clients[i].fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(clients[i].fd, (void *)&to, sizeof to)) die("connect");
    setsockopt(clients[i].fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    epoll_ctl(ready, EPOLL_CTL_ADD, clients[i].fd, &event);
  }
}

static int by_size(const void *a, const void *b) {
  double difference = *(double *)a - *(double *)b;
  return (difference > 0) - (difference < 0);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  int clients = atoi(argv[2]), ready = epoll_create1(0);
  read_requests();
  size_t count = 0, done = 0, failed = 0;
  for (unsigned char *at = next; at < end; at += 4 + length_at(at)) count++;
  double *times = calloc(count, sizeof *times);
  client *all = calloc(clients, sizeof *all);
  open_all(all, clients, atoi(argv[1]), ready);
  double start = now_ms();
  for (int i = 0; i < clients; i++) send_next(&all[i]);
  while (done < count) {
    struct epoll_event events[AT_ONCE];
    int n = epoll_wait(ready, events, AT_ONCE, -1);
    for (int i = 0; i < n; i++) {
      client *c = events[i].data.ptr;
      ssize_t got = read(c->fd, c->reply + c->got, REPLY_MAX - 1 - c->got);
      if (got <= 0) die("read an answer");
      c->got += got;
      int status = status_of(c);
      if (!status) continue;
      times[done++] = now_ms() - c->sent_ms;
      failed += status != 200;
      send_next(c);
    }
  }
  double seconds = (now_ms() - start) / 1e3;
  qsort(times, count, sizeof *times, by_size);
  printf("{\\"perSecond\\":%f,\\"p50Ms\\":%f,\\"p99Ms\\":%f,\\"failed\\":%zu}", count / seconds,
         times[count / 2], times[count * 99 / 100], failed);
}
`

let program: string | undefined

/** Builds the program once; undefined where there is no compiler. */
function loadProgram(): string | undefined {
  if (!hasCompiler || program !== undefined) return program
  const folder = mkdtempSync(join(tmpdir(), 'svc-load-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'load.c'), SOURCE)
  program = join(folder, 'load')
  execFileSync('cc', ['-O2', '-Wall', '-Werror', '-o', program, join(folder, 'load.c')])
  return program
}

/** Sends all requests over so many connections at once; undefined where the program can't be built. */
export async function loadFromC(
  url: string,
  requests: readonly Uint8Array[],
  clients: number,
): Promise<Load | undefined> {
  const built = loadProgram()
  if (built === undefined) return undefined
  const child = spawn(built, [new URL(url).port, String(clients)], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const printed = text(child.stdout)
  for (const request of requests) {
    const length = Buffer.alloc(4)
    length.writeUInt32LE(request.length)
    child.stdin.write(length)
    child.stdin.write(request)
  }
  child.stdin.end()
  const [code] = await exited
  if (code !== 0) throw new Error(`the load client ended with ${code}`)
  return JSON.parse(await printed) as Load
}
