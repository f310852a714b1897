/**
 * Connections of a server that every user of the machine can reach. When all are taken, the kernel is asked whose they are:
 * those of other users and of nobody end, then the oldest of whoever says nothing, so that the owner of the node always gets
 * in. An answer that is not taken ends its connection too, for the systems that do not say whose it is.
 */
import type * as http from 'node:http'
import type { Socket } from 'node:net'
import type { Timer, Timers } from '../../protocol/timers.ts'
import type { Machine } from '../platform/machine.ts'
import type { Notices } from '../platform/notices.ts'
import { usersOf } from './peer-user.ts'

export const CONNECTIONS_MAX = 256
/** Beside those, for whoever comes while all are busy, until the kernel was asked. */
const SPARE = 64
const LOOK_EVERY_MS = 1000
const SAID_EVERY_MS = 60_000
/** How long a warning stands after the last time that all were taken. */
const WARNED_FOR_MS = 60_000

/** The machine that is crowded, and where it is said. */
export type CrowdParts = Pick<Machine, 'log' | 'now' | 'timers'> & { readonly notices: Notices }
/** How long the other end may take for an answer that does not go into the buffers of the system, and for its bytes. */
const TAKEN_WITHIN_MS = 30_000
const TAKEN_BYTES_PER_MS = 16

type Whose = (connections: readonly Socket[]) => Promise<Map<Socket, number | undefined>>

/** Requests that are being answered, and whether the kernel was asked and did not name another user. */
type Standing = { busy: number; isKept: boolean }

export class Crowd {
  readonly #parts: CrowdParts
  readonly #whose: Whose
  /** In the order in which they came. */
  readonly #connections = new Map<Socket, Standing>()
  #lookedAt = Number.NEGATIVE_INFINITY
  #saidAt = Number.NEGATIVE_INFINITY
  #named: { uids: number[]; at: number } = { uids: [], at: Number.NEGATIVE_INFINITY }
  #next: Timer | undefined

  constructor(parts: CrowdParts, whose: Whose = usersOf) {
    this.#parts = parts
    this.#whose = whose
  }

  watch(server: http.Server): void {
    server.maxConnections = CONNECTIONS_MAX + SPARE
    server.on('connection', connection => this.#take(connection))
    // before whoever answers at once
    server.prependListener('request', ({ socket }, response) => {
      this.#count(socket, 1)
      response.once('close', () => this.#count(socket, -1))
      response.once('prefinish', () => endUntaken(socket, response, this.#parts.timers))
    })
    server.on('drop', () => this.#look())
    server.on('close', () => this.#parts.timers.clear(this.#next))
  }

  #take(connection: Socket): void {
    this.#connections.set(connection, { busy: 0, isKept: false })
    connection.once('close', () => this.#connections.delete(connection))
    if (this.#connections.size <= CONNECTIONS_MAX) return
    this.#look()
    if (this.#connections.size >= CONNECTIONS_MAX + SPARE) this.#endOldest()
  }

  #count(connection: Socket, by: number): void {
    const standing = this.#connections.get(connection)
    if (standing !== undefined) standing.busy += by
  }

  /** Until the kernel was asked: the oldest idle one gives its place, but for those that just came, or the oldest unknown. */
  #endOldest(): void {
    const all = [...this.#connections]
    const [oldest] =
      all.slice(0, -SPARE).find(([, { busy }]) => busy === 0) ?? all.find(([, { isKept }]) => !isKept) ?? []
    if (oldest !== undefined) this.#end(oldest)
  }

  #end(connection: Socket): void {
    this.#connections.delete(connection)
    connection.destroy()
  }

  /** Once a second at most: the kernel's tables are as long as the machine has connections. */
  #look(): void {
    if (this.#next !== undefined) return
    const { timers } = this.#parts
    const waitMs = Math.max(0, this.#lookedAt + LOOK_EVERY_MS - timers.monotonic())
    this.#next = timers.after(waitMs, () => {
      this.#lookedAt = timers.monotonic()
      void this.#endOthers()
        .catch(error => this.#parts.log.error({ err: error }, 'connections could not be looked at'))
        .finally(() => {
          this.#next = undefined
        })
    })
    this.#next.unref()
  }

  async #endOthers(): Promise<void> {
    const seen = [...this.#connections]
    const users = await this.#whose(seen.map(([connection]) => connection))
    for (const [, standing] of seen) standing.isKept = true
    const counts = new Map<number, number>()
    for (const [connection, uid] of users) {
      if (!this.#connections.has(connection)) continue
      if (uid !== undefined) counts.set(uid, (counts.get(uid) ?? 0) + 1)
      this.#end(connection)
    }
    for (const [connection, { busy }] of this.#connections)
      if (busy === 0 && this.#connections.size > CONNECTIONS_MAX) this.#end(connection)
    this.#say(counts)
  }

  #say(counts: ReadonlyMap<number, number>): void {
    const { log, now, notices } = this.#parts
    const at = this.#parts.timers.monotonic()
    if (counts.size > 0) this.#named = { uids: [...counts.keys()], at }
    // who went away has left connections that say nothing of him
    const uids = at - this.#named.at < WARNED_FOR_MS ? this.#named.uids : []
    const who =
      uids.length === 0
        ? 'a program of this machine'
        : `another user of this machine (uid ${uids.join(', ')}; ps -u ${uids.join(',')} lists their programs)`
    const sentence = `${who} holds all connections to the node`
    notices.say(
      'crowd',
      `${sentence}, which are ended so that yours get through; find out why, and stop it`,
      now() + WARNED_FOR_MS,
    )
    if (at - this.#saidAt < SAID_EVERY_MS) return
    this.#saidAt = at
    log.warn({ connections: CONNECTIONS_MAX, ended: Object.fromEntries(counts) }, sentence)
  }
}

/** Ends the connection on which the other end does not take an answer that was given whole. */
function endUntaken(socket: Socket, response: http.ServerResponse, timers: Timers): void {
  if (socket.writableLength === 0) return
  const withinMs = TAKEN_WITHIN_MS + socket.writableLength / TAKEN_BYTES_PER_MS
  const patience = timers.after(withinMs, () => socket.destroy()).unref()
  response.once('close', () => timers.clear(patience))
}
