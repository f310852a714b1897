/** Mutated real requests of every route of a line, sent to a running hub over HTTP. */
import { connect } from 'node:net'
import type { Reply, TestHub } from '../../hub/testing/hub.ts'
import { request } from '../../hub/testing/hub.ts'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { utf8 } from '../../protocol/encoding/bytes.ts'
import { type Draw, drawFrom, mutate } from './mutate.ts'

const RAW_ANSWER_MS = 2000

export type Sent = { path: string; headers: Record<string, string>; body: Uint8Array }

/** What a hub serves: its rows, what their requests look like, and which answers are right. */
export type FuzzLine<W extends { hub: TestHub } = { hub: TestHub }> = {
  name: string
  /** Path that is answered with 200 as long as it serves. */
  health: string
  rows: Readonly<Record<string, RouteRow>>
  /** Headers that mean something, to be mutated. */
  headers: readonly string[]
  /** What stands on each request beside its own headers. */
  always: Record<string, string>
  /** What stands in requests, and in no answer and no line of the log. */
  secrets?: readonly string[]
  start(): Promise<W>
  /** Where it is, if not at the address of the hub. */
  urlOf?(world: W): string
  /** A request of a row, as it should be. */
  real(name: string, world: W): Sent | Promise<Sent>
  /** Headers that sign what was mutated, where the line signs in headers. */
  sign?(name: string, sent: Sent, world: W): Record<string, string>
  random(): Uint8Array
  /** What is wrong with an answer; undefined if nothing is. `isOwn`: the path is still that of the row. */
  judge(name: string, reply: Reply, isOwn: boolean): string | undefined
  /** After an answer of 200. */
  done?(name: string, world: W): Promise<void>
}

/** Where a line is served. */
export const urlOf = <W extends { hub: TestHub }>(line: FuzzLine<W>, world: W): string =>
  line.urlOf?.(world) ?? world.hub.url

/** Mutates body, path or headers; signed routes are mostly signed over what was mutated, to get past the door. */
function mutated<W extends { hub: TestHub }>(
  line: FuzzLine<W>,
  { name, real, world }: { name: string; real: Sent; world: W },
  draw: Draw,
): Sent {
  const what = line.rows[name]?.method === 'GET' ? 1 + draw(2) : draw(3)
  const sent = { ...real, headers: { ...real.headers } }
  if (what === 0) sent.body = mutate([real.body, line.random()], draw)
  if (what === 1) sent.path = mutatedPath(real.path, draw)
  if (line.sign !== undefined && draw(8) > 0) Object.assign(sent.headers, line.sign(name, sent, world))
  if (what === 2) mutateHeader(sent.headers, line.headers, draw)
  return sent
}

function mutatedPath(path: string, draw: Draw): string {
  const text = Buffer.from(mutate([utf8(path)], draw)).toString('latin1')
  const path_ = text.replace(/[^!-~]/g, byte => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`)
  return `/${path_.replace(/^\/+/, '').replaceAll('#', '')}`
}

const COMMON_HEADERS = ['Content-Type', 'Prefer', 'Accept', 'X-Forwarded-For', 'Content-Encoding']

function mutateHeader(given: Record<string, string>, own: readonly string[], draw: Draw): void {
  const names = [...own, ...COMMON_HEADERS]
  const name = names[draw(names.length)] as string
  const value = Buffer.from(mutate([utf8(given[name] ?? 'wait=0')], draw)).toString('latin1')
  given[name] = value.replace(/[^\t -~\x80-\xff]/g, '').trim()
}

/** What is wrong with an answer to anything at all; undefined if nothing is. */
export async function fuzzRoute<W extends { hub: TestHub }>(
  line: FuzzLine<W>,
  name: string,
  world: W,
  seed: number,
): Promise<string | undefined> {
  const method = line.rows[name]?.method ?? 'GET'
  const real = await line.real(name, world)
  const sent = mutated(line, { name, real, world }, drawFrom(seed))
  const url = urlOf(line, world)
  const reply = await request(url + sent.path, method, {
    headers: { ...line.always, ...sent.headers },
    ...(method === 'GET' ? {} : { body: sent.body }),
  })
  if (reply.status === 200) await line.done?.(name, world)
  const at = (path: string): string => new URL(url + path).pathname
  const told = line.secrets?.some(secret => JSON.stringify(reply.json).includes(secret))
  const fault = told === true ? 'a secret is told' : line.judge(name, reply, at(sent.path) === at(real.path))
  return fault && `${fault}: ${reply.status} ${JSON.stringify(reply.json)} to ${JSON.stringify(sent.path)}`
}

/** Bytes that are hardly HTTP any more: the hub answers or hangs up, and serves the next one. */
export async function fuzzConnection<W extends { hub: TestHub }>(
  line: FuzzLine<W>,
  world: W,
  seed: number,
): Promise<void> {
  const { port, hostname } = new URL(urlOf(line, world))
  const names = Object.keys(line.rows)
  const draw = drawFrom(seed)
  const name = names[draw(names.length)] as string
  const { path, headers: given, body } = await line.real(name, world)
  const lines = Object.entries({ Host: `${hostname}:${port}`, ...line.always, ...given })
  const head = [
    `${line.rows[name]?.method} ${path} HTTP/1.1`,
    ...lines.map(([key, value]) => `${key}: ${value}`),
  ]
  const whole = Buffer.concat([
    Buffer.from(`${head.join('\r\n')}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`),
    body,
  ])
  await new Promise<void>(resolve => {
    const socket = connect(Number(port), hostname)
    socket.setTimeout(RAW_ANSWER_MS, () => socket.destroy())
    socket.on('error', () => undefined)
    socket.on('close', () => resolve())
    socket.resume()
    socket.end(mutate([whole], draw))
  })
}
