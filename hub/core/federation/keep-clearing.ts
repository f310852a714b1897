/**
 * When a hub clears with its peers: at its start, once a day, after a peer was away, soon where one says something else,
 * and when its operator wants it. Once a day it also holds what a peer published to what that peer owes this hub.
 */
import { wordsOf } from '../../../protocol/encoding/errors.ts'
import type { HubContext } from '../context.ts'
import { DAY_MS } from '../limits.ts'
import { Refusal } from '../refusal.ts'
import type { Clearing } from './clearing.ts'
import type { Peer } from './peers.ts'
import type { PublishedDebts } from './published-debts.ts'

const MINUTE_MS = 60_000
const LOOK_EVERY_MS = 2000
const AGAIN_MS_MIN = 10_000
const AGAIN_MS_MAX = 10 * MINUTE_MS
/** Two rounds that the other hub or a difference asks for are so far apart. */
const APART_MS = MINUTE_MS

/** Times are monotonic. */
type Turn = { dueMs: number; lastMs: number; awayMs: number; wasAway: boolean; publishedMs: number }
type Parts = { clearing: Clearing; published: PublishedDebts }

export class KeptClearing {
  readonly #context: HubContext
  readonly #parts: Parts
  readonly #turns = new Map<string, Turn>()
  readonly #stop: () => void
  #running: Promise<unknown> | undefined
  #isOver = false

  constructor(context: HubContext, parts: Parts) {
    this.#context = context
    this.#parts = parts
    const timer = context.timers.every(LOOK_EVERY_MS, () => this.#look())
    timer.unref()
    this.#stop = () => context.timers.clear(timer)
    parts.clearing.onDiffers(peer => void this.#afterDifference(peer))
  }

  async stop(): Promise<void> {
    this.#isOver = true
    this.#stop()
    await this.#running
  }

  /** Clears with a peer at the next look. */
  now(peer: string): void {
    this.#turnOf(peer).dueMs = 0
  }

  /** Where nothing crosses any more, both know already: else each would make the other one look again for ever. */
  async #afterDifference(peer: string): Promise<void> {
    const { store, peers, alert } = this.#context
    try {
      const { stoppedMs } = await store.clearing(peer)
      if (stoppedMs === undefined && peers.find(peer) !== undefined) this.#soon(peer)
    } catch (error) {
      alert('debts of a peer could not be cleared', { peer, why: wordsOf(error) })
    }
  }

  #soon(peer: string): void {
    const turn = this.#turnOf(peer)
    turn.dueMs = Math.min(turn.dueMs, turn.lastMs + APART_MS)
  }

  #turnOf(aid: string): Turn {
    const { timers } = this.#context
    const turn = this.#turns.get(aid) ?? {
      dueMs: 0,
      lastMs: timers.monotonic() - APART_MS,
      awayMs: 0,
      wasAway: false,
      publishedMs: Number.NEGATIVE_INFINITY,
    }
    this.#turns.set(aid, turn)
    return turn
  }

  #look(): void {
    const { peers, timers, memory } = this.#context
    for (const { aid } of peers.sealed) this.#noteOutage(aid)
    const nowMs = timers.monotonic()
    const due = peers.sealed.filter(({ aid }) => this.#turnOf(aid).dueMs <= nowMs)
    if (this.#running !== undefined || due.length === 0) return
    this.#running = memory.leader
      .lead('clearing', async () => {
        await Promise.all(due.map(peer => this.#turn(peer)))
      })
      .finally(() => {
        this.#running = undefined
      })
  }

  /** A peer that answers again may not have heard what was signed meanwhile. */
  #noteOutage(aid: string): void {
    const { fault, answeredMs } = this.#context.peers.contact(aid)
    const turn = this.#turnOf(aid)
    if (fault !== undefined) turn.wasAway = true
    else if (turn.wasAway && answeredMs !== undefined) {
      turn.wasAway = false
      this.#soon(aid)
    }
  }

  async #turn(peer: Peer): Promise<void> {
    const { timers, alert } = this.#context
    const turn = this.#turnOf(peer.aid)
    turn.lastMs = timers.monotonic()
    try {
      await this.#clear(peer, turn)
      turn.awayMs = 0
    } catch (error) {
      if (this.#isOver) return
      if (!(error instanceof Refusal))
        alert('debts of a peer could not be cleared', { peer: peer.url, why: wordsOf(error) })
      turn.awayMs = Math.min(Math.max(2 * turn.awayMs, AGAIN_MS_MIN), AGAIN_MS_MAX)
      turn.dueMs = timers.monotonic() + turn.awayMs
    }
  }

  async #clear(peer: Peer, turn: Turn): Promise<void> {
    const { timers, store } = this.#context
    const { clearing, published } = this.#parts
    // a peer that says something else has looked itself, and is heard
    turn.dueMs = timers.monotonic() + DAY_MS
    if (!(await clearing.concerns(peer))) return
    const outcome = await clearing.round(peer)
    const { stoppedMs } = await store.clearing(peer.aid)
    if (outcome !== 'agrees' && stoppedMs === undefined) turn.dueMs = timers.monotonic() + APART_MS
    if (timers.monotonic() - turn.publishedMs < DAY_MS) return
    await published.check(peer)
    turn.publishedMs = timers.monotonic()
  }
}
