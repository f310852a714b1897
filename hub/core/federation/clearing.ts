/**
 * Clearing with one peer at a time (credits: between hubs): each hub says what it thinks that it owes, shows what was
 * signed while the other one says something else, and lets no new payment cross where that does not help. Only what was
 * signed changes a book.
 */
import { ClearingStatement } from '../../../protocol/proof/clearing.ts'
import { faultPoint } from '../../faults.ts'
import type { ClearingState, PeerFigures } from '../../store/clearing-port.ts'
import { LOST_SINCE_SETTING, RESTORED_SETTING } from '../../store/ledger-port.ts'
import type { HubContext } from '../context.ts'
import { PaymentRefused } from '../ledger/refused.ts'
import { DAY_MS } from '../limits.ts'
import type { Buckets } from '../ports/rates.ts'
import { Refusal } from '../refusal.ts'
import type { DueTold, OwedTold, PeerCalls, Restored, ShownProof } from './calls.ts'
import { Doubtful } from './doubtful.ts'
import type { Peer } from './peers.ts'
import type { ShownProofs } from './shown-proofs.ts'

/** Looks in a row with a difference, before it counts: the peer shows meanwhile what it has. */
export const ROUNDS_MAX = 3
/** What is posted meanwhile is shown as well, so often. */
const TRIES = 3
const PAGE = 100
/** Proofs of one round from before both last agreed: a peer may have been put back to a time before. */
const EARLIER_MAX = 10_000
/** Clocks of two hubs differ by less, and a backup is made in less. */
const RESTORE_MARGIN_MS = 3_600_000
/** So often in a day a peer may say anew that it was restored, and is shown what it may lack. */
const RESTORES_PER_DAY = 24
/** A peer that shows much that does not hold is told of once a minute. */
const TOLD_EVERY_MS = 60_000
/** Of the calls of one peer, as far as this hub's own limit tells. */
const RATE_SHARE = 0.25

/** Of a round: `agrees` both say the same · `waits` for what is under way · `differs`. */
export type Outcome = 'agrees' | 'waits' | 'differs'
type Compared = { outcome: Outcome; owed: number; figures: PeerFigures; restored: Restored | undefined }
/** What a peer says of a debt, and what it shows of it. */
type Told = Omit<DueTold, 'proof'> & { proofs: readonly ShownProof[] }

export type ClearingParts = { calls: PeerCalls; proofs: ShownProofs }

export class Clearing {
  readonly #context: HubContext
  readonly #parts: ClearingParts
  readonly #rates: Buckets
  readonly #restores: Buckets
  /** The restore of each peer after which it was shown what it may lack. */
  readonly #healedMs = new Map<string, number>()
  /** What one peer shows, one thing after the other. */
  readonly #taking = new Map<string, Promise<unknown>>()
  #onDiffers: (peer: string) => void = () => undefined
  #isOver = false
  /** When the operator was last told of what, monotonic. */
  readonly #toldMs = new Map<string, number>()

  constructor(context: HubContext, parts: ClearingParts) {
    this.#context = context
    this.#parts = parts
    const { memory, limits } = context
    const { perSecond, burst } = limits.peerRate
    this.#rates = memory.rates.of('clearing', {
      perSecond: perSecond * RATE_SHARE,
      burst: Math.max(1, Math.floor(burst * RATE_SHARE)),
    })
    const perDay = { perSecond: RESTORES_PER_DAY / (DAY_MS / 1000), burst: RESTORES_PER_DAY }
    this.#restores = memory.rates.of('restores of peers', perDay)
  }

  /** From here on called when a peer says something else than this hub. */
  onDiffers(look: (peer: string) => void): void {
    this.#onDiffers = look
  }

  /** No peer is asked any more; a round under way ends. */
  end(): void {
    this.#isOver = true
  }

  /** What a peer owes as this hub has it, after it has taken what the peer shows. */
  async answer(peer: Peer, { due, restored, proofs }: Told): Promise<OwedTold> {
    for (const proof of proofs) await this.#takeInTurn(peer, proof)
    const figures = await this.#context.store.peerFigures(peer.aid)
    const owed = 0 - figures.due
    const state = await this.#context.store.clearing(peer.aid)
    const differs = owed !== due && owed - due !== state.accepted
    if (differs || this.#isToHeal(state, restored)) this.#onDiffers(peer.aid)
    return { owed, restored: await this.#restored() }
  }

  /** The last restore of this hub, which its peers hear of: equal figures say nothing of what it lacks. */
  async #restored(): Promise<Restored | undefined> {
    const { store } = this.#context
    const atMs = Number((await store.setting(RESTORED_SETTING)) ?? 0)
    if (atMs === 0) return undefined
    return { atMs, lostSinceMs: Number((await store.setting(LOST_SINCE_SETTING)) ?? atMs) }
  }

  /** The same of a receipt that anybody brings: the signature on it is all that speaks for it. */
  async shown(peer: Peer, receipt: Uint8Array): Promise<number> {
    await this.#parts.proofs.checkSigned(peer, receipt)
    await this.#takeInTurn(peer, { kind: 'receipt', bytes: receipt })
    return 0 - (await this.#context.store.peerFigures(peer.aid)).due
  }

  async #takeInTurn(peer: Peer, proof: ShownProof): Promise<void> {
    const before = this.#taking.get(peer.aid) ?? Promise.resolve()
    const taken = before.then(() => this.#take(peer, proof))
    const settled = taken.catch(() => undefined)
    this.#taking.set(peer.aid, settled)
    await taken
  }

  async #take(peer: Peer, proof: ShownProof): Promise<void> {
    try {
      await this.#parts.proofs.take(peer, proof)
    } catch (error) {
      if (!(error instanceof Doubtful) && !(error instanceof PaymentRefused)) throw error
      this.#tell(peer, `a peer shows a ${proof.kind} that is not booked`, error.message)
    }
  }

  #tell(peer: Peer, event: string, why: string): void {
    const { timers, alert } = this.#context
    const key = `${peer.aid} ${event} ${why}`
    if (timers.monotonic() - (this.#toldMs.get(key) ?? Number.NEGATIVE_INFINITY) < TOLD_EVERY_MS) return
    this.#toldMs.set(key, timers.monotonic())
    alert(event, { peer: peer.url, why })
  }

  /** Whether a peer and this hub ever had to do with credits of each other, or may have in a time that was lost. */
  async concerns(peer: Peer): Promise<boolean> {
    const { store } = this.#context
    if ((await store.peerFigures(peer.aid)).seq > 0) return true
    const { agreedMs, atMs = 0 } = await store.clearing(peer.aid)
    return agreedMs !== undefined || Number((await store.setting(RESTORED_SETTING)) ?? 0) > atMs
  }

  /** Compares with a peer, and shows it what was signed while it says something else; throws where it gives no answer. */
  async round(peer: Peer): Promise<Outcome> {
    const { store, now, peers } = this.#context
    const state = await store.clearing(peer.aid)
    const compared = await this.#compared(peer, state)
    if (peers.find(peer.aid) === undefined) return 'waits'
    const { outcome, owed, figures } = compared
    const { due, seq } = figures
    // the operator may have spoken meanwhile
    const { accepted, stoppedMs } = await store.clearing(peer.aid)
    const seen: ClearingState = { ...state, accepted, stoppedMs, atMs: now(), due, owed }
    const isSame = owed === due
    if (outcome === 'agrees')
      await store.putClearing({
        ...seen,
        agreedSeq: seq,
        agreedMs: now(),
        rounds: 0,
        accepted: isSame ? 0 : accepted,
        stoppedMs: isSame ? undefined : stoppedMs,
      })
    else if (outcome === 'waits') await store.putClearing(seen)
    else await this.#differs(peer, { ...seen, rounds: state.rounds + 1 })
    return outcome
  }

  async #differs(peer: Peer, state: ClearingState): Promise<void> {
    const { store, now, alert } = this.#context
    const stops = state.stoppedMs === undefined && state.rounds >= ROUNDS_MAX
    await store.putClearing(stops ? { ...state, stoppedMs: now() } : state)
    if (state.rounds < ROUNDS_MAX) return
    const { due, owed } = state
    alert('a peer says something else of what this hub owes it; no new payment crosses', {
      peer: peer.url,
      due,
      owed,
      mend: `compare both with its operator, then: svc-hub peers reopen ${peer.aid}`,
    })
  }

  async #compared(peer: Peer, state: ClearingState): Promise<Compared> {
    for (const proof of await this.#ownStatements(peer.aid, state.agreedSeq))
      await this.#ask(peer, state, proof)
    let last = await this.#ask(peer, state)
    if (
      this.#isToHeal(state, last.restored) &&
      (await this.#restores.take(peer.aid, this.#context.now())) === 0
    )
      last = await this.#heal(peer, state, last.restored)
    let shownTo = state.agreedSeq
    for (let tried = 0; last.outcome !== 'agrees' && tried < TRIES; tried += 1) {
      const { seq } = await this.#context.store.peerFigures(peer.aid)
      const earlier = tried === 0 && state.rounds > 0
      for await (const proof of this.#proofs(peer.aid, shownTo, earlier)) {
        last = await this.#ask(peer, state, proof)
        if (last.outcome === 'agrees') return last
      }
      shownTo = Math.max(shownTo, seq)
      last = await this.#ask(peer, state)
      if (last.figures.seq === shownTo) return last
    }
    return last.outcome === 'agrees' ? last : { ...last, outcome: 'waits' }
  }

  /**
   * What this hub was paid is shown whatever the figures say: both may lack a statement of one amount, where one hub was
   * restored.
   */
  async #ownStatements(peer: string, after: number): Promise<ShownProof[]> {
    const { store, identity } = this.#context
    const all = (await store.clearedAfter(after)).map(bytes => ({ kind: 'statement' as const, bytes }))
    return all.filter(({ bytes }) => {
      const { creditor, debtor } = ClearingStatement.decode(bytes).body
      return creditor === identity.aid && debtor === peer
    })
  }

  /** A peer that was restored since both last agreed, and not shown yet what it may lack; none is of a time to come. */
  #isToHeal({ peer, agreedMs = 0 }: ClearingState, restored: Restored | undefined): restored is Restored {
    if (restored === undefined || this.#healedMs.get(peer) === restored.atMs) return false
    const { atMs } = restored
    return atMs > agreedMs - RESTORE_MARGIN_MS && atMs < this.#context.now() + RESTORE_MARGIN_MS
  }

  async #heal(peer: Peer, state: ClearingState, restored: Restored): Promise<Compared> {
    for (const proof of await this.#since(peer.aid, restored)) await this.#ask(peer, state, proof)
    this.#healedMs.set(peer.aid, restored.atMs)
    return await this.#ask(peer, state)
  }

  /** What a peer that was restored may lack, in order: also where both sums are the same without it. */
  async #since(peer: string, { lostSinceMs }: Restored): Promise<ShownProof[]> {
    const { store } = this.#context
    const found: ShownProof[] = []
    for (let before: number | undefined = Number.MAX_SAFE_INTEGER; before !== undefined; ) {
      const page = await store.peerTransfers({ peer, before, limit: PAGE })
      const lost = page.transfers.filter(({ atMs }) => atMs >= lostSinceMs - RESTORE_MARGIN_MS)
      found.push(...lost.map(({ kind, bytes }) => ({ kind, bytes })))
      before = lost.length < page.transfers.length || found.length > EARLIER_MAX ? undefined : page.next
    }
    return found.reverse()
  }

  /** What was signed after a transfer, in order; and what was before, the latest first, where that did not help. */
  async *#proofs(peer: string, shownTo: number, earlier: boolean): AsyncGenerator<ShownProof> {
    const { store } = this.#context
    for (let after: number | undefined = shownTo; after !== undefined; ) {
      const page = await store.peerTransfers({ peer, after, limit: PAGE })
      for (const { kind, bytes } of page.transfers) yield { kind, bytes }
      after = page.next
    }
    if (!earlier) return
    let left = EARLIER_MAX
    for (let before: number | undefined = shownTo + 1; before !== undefined && left > 0; left -= PAGE) {
      const page = await store.peerTransfers({ peer, before, limit: PAGE })
      for (const { kind, bytes } of page.transfers) yield { kind, bytes }
      before = page.next
    }
  }

  async #ask(peer: Peer, { accepted }: ClearingState, proof?: ShownProof): Promise<Compared> {
    await this.#wait(peer.aid)
    const { store } = this.#context
    const figures = await store.peerFigures(peer.aid)
    const told = { due: figures.due, restored: await this.#restored(), proof }
    const { owed, restored } = await this.#parts.calls.clear(peer, told)
    faultPoint('hub.clearing.answered')
    const { due, waiting } = figures
    if (owed === due || owed - due === accepted) return { outcome: 'agrees', owed, figures, restored }
    const after = await store.peerFigures(peer.aid)
    const isUnderWay =
      after.seq !== figures.seq || (owed - accepted < due && owed - accepted >= due - waiting)
    return { outcome: isUnderWay ? 'waits' : 'differs', owed, figures, restored }
  }

  async #wait(peer: string): Promise<void> {
    const { now, timers } = this.#context
    for (;;) {
      if (this.#isOver) throw new Refusal('homeUnreachable')
      const waitMs = await this.#rates.take(peer, now())
      if (waitMs === 0) return
      await new Promise<void>(resolve => void timers.after(waitMs, resolve))
    }
  }
}
