/**
 * Look-ups in the kernel's tables of connections. A table is as long as the machine has connections, and anybody can make
 * it long: one read at a time serves all who wait, and the reads leave most of the time to others.
 */
import { readSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { nextTurn, type Timers } from '../../protocol/timers.ts'

/** Pairs of ends as the tables write them. */
type Wanted = {
  /** The row of the other end. */
  theirs: readonly string[]
  /** That of ours, where it shows that the table would have the other one too. */
  ours: readonly string[]
  /** Nobody waits for it any more. */
  isGone: () => boolean
}

/** The user who holds an end; undefined where the tables do not say it. */
export type Holder = number | 'nobody' | undefined

type Waiting = Wanted & { looks: number; isOurs: boolean; found: (holder: Holder) => void }

/** The kernel changes a table while it is read, so that a row can be missed. */
const LOOKS = 2
const PART_BYTES = 64 * 1024
/** The kernel gives a page at a time: a turn of the loop for each would take longer than the reading. */
const TURN_MS = 3
/** Rest after a read, as a multiple of its time. */
const REST = 2
const REST_MAX_MS = 500
/** Its row is no socket any more. */
const TIME_WAIT = '06'
/** Columns of a row behind its two ends and its state. */
const [USER, INODE] = [3, 5]
const ORPHAN = '0'

export class Lookups {
  readonly #tables: readonly string[]
  readonly #timers: Timers
  #waiting: Waiting[] = []
  #isReading = false
  #restedAt = 0

  constructor(tables: readonly string[], timers: Timers) {
    this.#tables = tables
    this.#timers = timers
  }

  find(wanted: Wanted): Promise<Holder> {
    return new Promise(found => {
      this.#waiting.push({ ...wanted, looks: 0, isOurs: false, found })
      if (!this.#isReading) void this.#readAll()
    })
  }

  async #readAll(): Promise<void> {
    this.#isReading = true
    while (this.#waiting.length > 0) {
      const restMs = this.#restedAt - this.#timers.monotonic()
      // whoever asks in this turn of the loop is served by this read
      await (restMs > 0 ? this.#rest(restMs) : Promise.resolve())
      const began = this.#timers.monotonic()
      await this.#read(this.#waiting.splice(0))
      const ended = this.#timers.monotonic()
      this.#restedAt = ended + Math.min(REST_MAX_MS, REST * (ended - began))
    }
    this.#isReading = false
  }

  #rest(ms: number): Promise<void> {
    return new Promise(resolve => void this.#timers.after(ms, resolve).unref())
  }

  async #read(asked: readonly Waiting[]): Promise<void> {
    const left = new Set(asked.filter(isAwaited))
    const rows = rowsOf(left)
    const take: Row = (pair, rest) => {
      const hit = rows.get(pair)
      if (hit?.isTheirs === false) hit.one.isOurs = true
      if (hit?.isTheirs === true) this.#foundIn(rest(), hit.one, left)
      return left.size > 0
    }
    for (const table of this.#tables)
      if (left.size > 0) await readRows(table, this.#timers, take).catch(() => undefined)
    for (const one of left) {
      one.looks += 1
      if (one.looks < LOOKS) this.#waiting.push(one)
      else one.found(one.isOurs ? 'nobody' : undefined)
    }
  }

  #foundIn([state, ...columns]: readonly string[], one: Waiting, left: Set<Waiting>): void {
    if (state === TIME_WAIT || columns[INODE] === ORPHAN) return
    left.delete(one)
    one.found(Number(columns[USER]))
  }
}

function isAwaited(one: Waiting): boolean {
  const isAwaited = one.theirs.length > 0 && !one.isGone()
  if (!isAwaited) one.found(undefined)
  return isAwaited
}

function rowsOf(left: Iterable<Waiting>): Map<string, { one: Waiting; isTheirs: boolean }> {
  const rows = new Map<string, { one: Waiting; isTheirs: boolean }>()
  for (const one of left) {
    for (const pair of one.ours) rows.set(pair, { one, isTheirs: false })
    for (const pair of one.theirs) rows.set(pair, { one, isTheirs: true })
  }
  return rows
}

type Row = (pair: string, rest: () => string[]) => boolean

/** Gives each row to `take` until that wants no more. */
async function readRows(path: string, timers: Timers, take: Row): Promise<void> {
  await using file = await open(path)
  const part = Buffer.allocUnsafe(PART_BYTES)
  let began = timers.monotonic()
  for (let text = ''; ; ) {
    if (timers.monotonic() - began > TURN_MS) {
      await nextTurn()
      began = timers.monotonic()
    }
    const bytesRead = readSync(file.fd, part, 0, PART_BYTES, null)
    const isEnd = bytesRead === 0
    text += isEnd ? '\n' : part.toString('latin1', 0, bytesRead)
    let from = 0
    for (let to = text.indexOf('\n'); to >= 0; from = to + 1, to = text.indexOf('\n', from))
      if (!takeRow(text, { from, to }, take)) return
    if (isEnd) return
    text = text.slice(from)
  }
}

/** `  12: <end> <end> <state> …`, each end an address and a port. */
function takeRow(text: string, { from, to }: { from: number; to: number }, take: Row): boolean {
  const start = text.indexOf(': ', from) + 2
  const space = text.indexOf(' ', start)
  const end = text.indexOf(' ', space + 1)
  if (start < 2 || space < 0 || end < 0 || end > to) return true
  return take(text.slice(start, end), () => text.slice(end, to).trim().split(/\s+/))
}
