/**
 * Calls to a hub of wire 3: signed ones leave one after another with strictly rising times beside one held poll, the
 * clock follows the hub's, and another wire version ends the conversation (hub API: authentication, versioning).
 */

import {
  type Call,
  call,
  callBody,
  callPath,
  callText,
  ForeignAnswer,
  Refused,
  type Send,
} from '../../../protocol/contract/client.ts'
import type { ReplyOf, RouteRow } from '../../../protocol/contract/route.ts'
import { fromBase64url, toBase64url } from '../../../protocol/encoding/bytes.ts'
import { encodeKel } from '../../../protocol/identity/kel.ts'
import { unlessAborted } from '../../../protocol/timers.ts'
import { codes } from '../../../protocol/wire3/codes.ts'
import { headers as names, WIRE } from '../../../protocol/wire3/headers.ts'
import { wire3Routes as routes } from '../../../protocol/wire3/routes.ts'
import { signRequest } from '../../../protocol/wire3/signed-request.ts'
import { CLOCKS_APART_MAX_MS, clocksApart, floorAhead } from '../clocks.ts'
import { Conversation } from '../conversation.ts'
import { isOwnFailure } from '../failures.ts'
import { type HubIdentity, type HubInputs, OtherWire } from '../hub.ts'
import { HubDate } from '../hub-date.ts'
import { hubLog } from '../log.ts'

const CALL_TIMEOUT_MS = 60_000
/** Others wait behind a signed call. */
const SIGNED_TIMEOUT_MS = 20_000
/** A hub that refuses for another reason is not shown the log with each call. */
const PUSHED_EVERY_MS = 60_000
const CLOCK_CORRECTED_MIN_MS = 4 * 60_000
/** A hub takes no time that is further ahead of its clock. */
const FLOOR_AHEAD_MAX_MS = 5 * 60_000

export type SignedOptions = { headers?: Record<string, string>; send?: Send; heldBesideQueue?: boolean }
export type GivenCall<R extends RouteRow> = Omit<Call<R>, 'baseUrl' | 'headers' | 'onResponse'>

/** Asks a hub who it is, until `signal` aborts; refuses one whose own log does not verify. */
export async function fetchHubIdentity(url: string, send: Send, signal: AbortSignal): Promise<HubIdentity> {
  const reply = await call(routes.hubIdentity, send, {
    baseUrl: url,
    headers: { [names.wire]: String(WIRE) },
    signal,
    onResponse: response => {
      const why = incompatibility(response)
      if (why !== undefined) throw new OtherWire(why, wireIn(response))
    },
  })
  const log = hubLog(fromBase64url(reply.kel), reply.aid)
  return { aid: log.aid, wire: reply.wire, log, bitsMax: reply.dir_max_bits }
}

/** The wire that an answer names. */
function wireIn({ headers }: Response): number | undefined {
  const wire = headers.get(names.wire) ?? ''
  return /^[0-9]{1,9}$/.test(wire) ? Number(wire) : undefined
}

/** Why an answer ends the conversation: another wire version. An answer without the header does not. */
function incompatibility(response: Response): string | undefined {
  const wire = response.headers.get(names.wire)
  if (wire !== null && wire !== String(WIRE)) {
    const spoken = wireIn(response)
    const said = spoken === undefined ? 'another wire version' : `wire version ${spoken}`
    return `the hub speaks ${said}, this node ${WIRE}; update the older one`
  }
  if (response.status === 426) return 'the hub requires another wire version; update this node'
  return undefined
}

export class Wire3Calls {
  #url: string
  #hub: string
  #inputs: HubInputs
  readonly #talk: Conversation
  #lastContact: number | undefined
  #queue: Promise<unknown> = Promise.resolve()
  #lastTs = 0
  /** Newest key event under which this hub refused a signature, and that it called retired. */
  #refusedSeq: number | undefined
  #retiredSeq: number | undefined
  /** When this hub was last shown the log because it refused a signature, and up to which event. */
  #pushed: { seq: number; atMs: number } | undefined
  #clockOffset = 0
  readonly #hubDate = new HubDate()

  constructor(url: string, hub: string, inputs: HubInputs) {
    this.#url = url
    this.#hub = hub
    this.#inputs = inputs
    this.#talk = new Conversation(inputs.now)
  }

  /** Why the node talks to this hub no longer. */
  get stopped(): string | undefined {
    return this.#talk.stopped
  }

  /** A clock that ran ahead and was set back heard nothing later than now. */
  get lastContactAtMs(): number | undefined {
    return this.#lastContact && Math.min(this.#lastContact, this.#inputs.now())
  }

  /** Ends the conversation with this hub. */
  stop(why: string): never {
    return this.#talk.stop(why)
  }

  /** Asks the hub anew who it is; where it answered in another wire, once an hour or as soon as somebody asks. */
  async identify(isAsked: boolean): Promise<HubIdentity> {
    this.#talk.ensureAsked(isAsked)
    try {
      const { connections, timers } = this.#inputs
      const found = await fetchHubIdentity(this.#url, connections.signed, timers.deadline(CALL_TIMEOUT_MS))
      this.#talk.goOn()
      return found
    } catch (error) {
      if (error instanceof OtherWire) this.#talk.stopForWire(error.message)
      throw error
    }
  }

  /** Ends it for what this node is. */
  halt(why: string): void {
    this.#talk.halt(why)
  }

  /** A call that carries no signature. */
  async plain<R extends RouteRow>(
    row: R,
    send: Send,
    given: GivenCall<R>,
    headers: Record<string, string> = {},
  ): Promise<ReplyOf<R>> {
    return await this.#plainly(given, headers, full => call(row, send, full as Call<R>))
  }

  /** The same for a route that answers with text. */
  async text<R extends RouteRow>(row: R, send: Send, given: GivenCall<R>): Promise<string> {
    return await this.#plainly(given, {}, full => callText(row, send, full as Call<R>))
  }

  async #plainly<R extends RouteRow, T>(
    given: GivenCall<R>,
    headers: Record<string, string>,
    ask: (full: unknown) => Promise<T>,
  ): Promise<T> {
    this.ensureTalking()
    const sentAt = this.#inputs.now()
    const full = {
      signal: this.#inputs.timers.deadline(CALL_TIMEOUT_MS),
      ...given,
      baseUrl: this.#url,
      headers: { ...headers, [names.wire]: String(WIRE) },
      onResponse: (response: Response) => this.#observe(response, sentAt),
    }
    return ask(full).catch(error => {
      throw error instanceof Refused && !Object.hasOwn(codes, error.code)
        ? new ForeignAnswer(
            error.status,
            `the hub refused (HTTP ${error.status}) with a code that wire 3 does not have`,
          )
        : error
    })
  }

  /** A signed call; waits for those before it, except that a held poll leaves the queue once it is on its way. */
  async signed<R extends RouteRow>(
    row: R,
    given: GivenCall<R>,
    options: SignedOptions = {},
  ): Promise<ReplyOf<R>> {
    this.#inputs.publication.check(given.body, () => callBody(row, given.body))
    const run = () => {
      const ending = { signal: this.#inputs.timers.deadline(SIGNED_TIMEOUT_MS), ...given }
      return this.#retried(() => this.#signOnce(row, ending, options))
    }
    const before = this.#queue
    if (options.heldBesideQueue === true) {
      await before
      return run()
    }
    const turn = unlessAborted(before, given.signal).then(run)
    // one that was given up while it waited lets nobody past those before it
    this.#queue = turn.then(
      () => before,
      () => before,
    )
    return turn
  }

  /** Once more above the floor, and once more after the clock was put right; the body never changes. */
  async #retried<T>(attempt: () => Promise<T>): Promise<T> {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      if (!(await this.#isHealed(error))) throw error
      const floor = error.members['floor']
      if (typeof floor === 'number') {
        this.#checkFloor(floor)
        this.#lastTs = Math.max(this.#lastTs, floor)
        if (floor > this.timeMs) this.#clockOffset = this.#offsetOf(floor)
      }
      return attempt()
    }
  }

  /** Whether the same call may be taken now: what stood in its way is out of it. */
  async #isHealed({ code }: Refused): Promise<boolean> {
    if (code === 'key_retired') this.#tellRetired()
    if (code === 'unauthorized') return this.#takeClock() || (await this.#toldKey())
    return code === 'ts_stale' || code === 'replayed'
  }

  /** The floor of a hub that has just started lies above its clock, so its date says how far it may be followed. */
  #offsetOf(floor: number): number {
    const offset = floor - this.#inputs.now()
    const told = this.apartMs
    if (told === undefined) return offset
    // it takes nothing that is further behind its clock
    if (told >= CLOCK_CORRECTED_MIN_MS) return told
    return Math.max(this.#clockOffset, Math.min(offset, told))
  }

  /**
   * A hub that was restored may know an older key of ours than it did: it is shown the whole log, where that was not done in
   * the last while. Whether it learned something from it.
   */
  async #toldKey(): Promise<boolean> {
    this.#tellRefused()
    const { log } = this.#inputs.identity
    const isNew = this.#pushed?.seq !== log.seq || this.#pushed.atMs > this.#inputs.now()
    if (!isNew && this.#inputs.now() - (this.#pushed?.atMs ?? 0) < PUSHED_EVERY_MS) return false
    this.#pushed = { seq: log.seq, atMs: this.#inputs.now() }
    const body = { aid: log.aid, kel: toBase64url(encodeKel(log.events)) }
    try {
      const { unchanged } = await this.plain(routes.pushKel, this.#inputs.connections.signed, { body })
      return !unchanged
    } catch (error) {
      if (isOwnFailure(error)) throw error
      return false
    }
  }

  #tellRefused(): void {
    const { identity, keyRefused } = this.#inputs
    if (this.#refusedSeq === identity.log.seq) return
    this.#refusedSeq = identity.log.seq
    keyRefused?.(this.#url)
  }

  #tellRetired(): void {
    const { identity, keyRetired } = this.#inputs
    if (this.#retiredSeq === identity.log.seq) return
    this.#retiredSeq = identity.log.seq
    keyRetired?.(this.#url)
  }

  /** Takes over the hub's clock from its last answer; true when ours was far off, or what we signed last. */
  #takeClock(): boolean {
    const offset = this.apartMs ?? 0
    const isNear = Math.abs(offset - this.#clockOffset) < CLOCK_CORRECTED_MIN_MS
    if (isNear && this.#lastTs - this.timeMs < CLOCK_CORRECTED_MIN_MS) return false
    this.#checkClock(offset)
    if (!isNear) this.#clockOffset = offset
    this.#lastTs = 0
    return true
  }

  /** A floor that the hub's own clock will reach later is no sign of that clock: a time above it is refused as well. */
  #checkFloor(floor: number): void {
    const { apartMs } = this
    if (apartMs === undefined || floor - this.#inputs.now() - apartMs <= FLOOR_AHEAD_MAX_MS)
      this.#checkClock(Math.max(0, floor - this.#inputs.now()))
    else throw Math.abs(apartMs) < CLOCK_CORRECTED_MIN_MS ? floorAhead(floor) : clocksApart(apartMs)
  }

  /** Says that one of the two clocks is wrong; nothing is lost, and the next call tries again. */
  #checkClock(offset: number): void {
    if (Math.abs(offset) > CLOCKS_APART_MAX_MS) throw clocksApart(offset)
  }

  async #signOnce<R extends RouteRow>(
    row: R,
    given: GivenCall<R>,
    options: SignedOptions,
  ): Promise<ReplyOf<R>> {
    const { identity } = this.#inputs
    this.#lastTs = Math.max(this.timeMs, this.#lastTs + 1)
    const request = {
      action: row.action as string,
      aid: identity.aid,
      hub: this.#hub,
      ts: this.#lastTs,
      method: row.method,
      path: callPath(row, given as Parameters<typeof callPath>[1]),
      body: callBody(row, given.body),
    }
    const signature = signRequest(request, { seed: identity.seed, seq: identity.log.seq })
    const send = options.send ?? this.#inputs.connections.signed
    return this.plain(row, send, given, { ...options.headers, ...signature })
  }

  /** The time as this hub sees it. */
  get timeMs(): number {
    return this.#inputs.now() + this.#clockOffset
  }

  /** The time that the hub told last, and what has passed since. */
  get knownTimeMs(): number | undefined {
    return this.#hubDate.timeMs(this.#inputs.now())
  }

  /** By how much that time is ahead of the clock of this machine. */
  get apartMs(): number | undefined {
    return this.#hubDate.apartMs
  }

  ensureTalking(): void {
    this.#talk.ensure()
  }

  #observe(response: Response, sentAt: number): void {
    const why = incompatibility(response)
    if (why !== undefined) this.#talk.stopForWire(why)
    if (response.headers.get(names.wire) === null) return
    const now = this.#inputs.now()
    this.#lastContact = now
    this.#hubDate.note(response, { sentAt, seenAt: now })
  }
}
