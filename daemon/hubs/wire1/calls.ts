/**
 * Calls to a hub of wire 1: a signed one has its challenge in the body, dated by the hub's clock, and a refusal is a status
 * with a sentence (hub API of the earlier line: authentication, errors).
 */
import {
  type Call,
  call,
  callBody,
  callLifting,
  callText,
  ForeignAnswer,
  type ReadRefusal,
  Refused,
  type Send,
} from '../../../protocol/contract/client.ts'
import type { ReplyOf, RequestOf, RouteRow } from '../../../protocol/contract/route.ts'
import { fromBase64 } from '../../../protocol/encoding/bytes.ts'
import { type ChallengeMembers, signChallenge } from '../../../protocol/wire1/challenge.ts'
import { WIRE1, WIRE1_HEADER } from '../../../protocol/wire1/headers.ts'
import { wire1Routes as routes } from '../../../protocol/wire1/routes.ts'
import { CLOCKS_APART_MAX_MS, clocksApart } from '../clocks.ts'
import { Conversation } from '../conversation.ts'
import { type HubIdentity, type HubInputs, OtherWire } from '../hub.ts'
import { HubDate } from '../hub-date.ts'
import { hubLog } from '../log.ts'

const CALL_TIMEOUT_MS = 60_000
/** A hub takes a challenge five minutes to either side of its clock. */
const CLOCK_CORRECTED_MIN_MS = 4 * 60_000

type Headed = Record<string, string>
export type GivenCall<R extends RouteRow> = Omit<
  Call<R>,
  'baseUrl' | 'headers' | 'onResponse' | 'readRefusal'
>
/** What a signed request says beside its challenge. */
export type Unsigned<R extends RouteRow> = Omit<RequestOf<R>, keyof ChallengeMembers>

type SignedCall<R extends RouteRow> = Omit<GivenCall<R>, 'body'> & { body: Unsigned<R> }

/** The code under which this node knows a refusal, by its status: wire 1 names none. */
const codeOf: Readonly<Record<number, string>> = {
  400: 'bad_request',
  401: 'unauthorized',
  403: 'admission_required',
  404: 'unknown_aid',
  409: 'conflict',
  500: 'internal',
  502: 'home_unreachable',
  503: 'unavailable',
}

const readRefusal: ReadRefusal = (status, json) => {
  const body = json as { error?: unknown } | null
  const reason = codeOf[status]
  if (reason === undefined || typeof body?.error !== 'string') return undefined
  return { ...body, error: body.error, reason }
}

/** Asks a hub who it is, until `signal` aborts; refuses one whose own log does not verify. */
export async function fetchHubIdentity(url: string, send: Send, signal: AbortSignal): Promise<HubIdentity> {
  const reply = await call(routes.hubIdentity, send, {
    baseUrl: url,
    headers: { [WIRE1_HEADER]: String(WIRE1) },
    signal,
    readRefusal,
    onResponse: checkWire,
  })
  const log = hubLog(fromBase64(reply.kel), reply.aid)
  return { aid: log.aid, wire: WIRE1, log, bitsMax: 0 }
}

/** An answer without the header may be that of a proxy. */
function checkWire(response: Response): void {
  const wire = response.headers.get(WIRE1_HEADER)
  if (wire === null || wire === String(WIRE1)) return
  const spoken = /^[0-9]{1,9}$/.test(wire) ? Number(wire) : undefined
  const said = spoken === undefined ? 'another wire version' : `wire version ${spoken}`
  throw new OtherWire(`the hub speaks ${said} at this address, not ${WIRE1}`, spoken)
}

export class Wire1Calls {
  readonly #url: string
  readonly #inputs: HubInputs
  readonly #hubDate = new HubDate()
  readonly #talk: Conversation
  #lastContact: number | undefined

  constructor(url: string, inputs: HubInputs) {
    this.#url = url
    this.#inputs = inputs
    this.#talk = new Conversation(inputs.now)
  }

  /** Why the node talks to this hub no longer. */
  get stopped(): string | undefined {
    return this.#talk.stopped
  }

  get lastContactAtMs(): number | undefined {
    return this.#lastContact && Math.min(this.#lastContact, this.#inputs.now())
  }

  get apartMs(): number | undefined {
    return this.#hubDate.apartMs
  }

  get knownTimeMs(): number | undefined {
    return this.#hubDate.timeMs(this.#inputs.now())
  }

  /** The time as this hub sees it: a clock that is nearly right is followed nowhere. */
  get timeMs(): number {
    const { apartMs = 0 } = this
    return this.#inputs.now() + (Math.abs(apartMs) < CLOCK_CORRECTED_MIN_MS ? 0 : apartMs)
  }

  /** Ends the conversation with this hub. */
  stop(why: string): never {
    return this.#talk.stop(why)
  }

  /** Ends it for what this node is. */
  halt(why: string): void {
    this.#talk.halt(why)
  }

  /** Asks the hub anew who it is; where it answered in another wire, once an hour or as soon as somebody asks. */
  async identify(isAsked: boolean): Promise<HubIdentity> {
    this.#talk.ensureAsked(isAsked)
    try {
      const { connections, timers } = this.#inputs
      const send = this.#noting(connections.signed)
      const found = await fetchHubIdentity(this.#url, send, timers.deadline(CALL_TIMEOUT_MS))
      this.#talk.goOn()
      return found
    } catch (error) {
      if (error instanceof OtherWire) this.#talk.stopForWire(error.message)
      throw error
    }
  }

  /** A call that carries no signature. */
  async plain<R extends RouteRow>(row: R, given: GivenCall<R>, headers: Headed = {}): Promise<ReplyOf<R>> {
    return await call(row, this.#inputs.connections.signed, this.#full(given, headers) as Call<R>)
  }

  /** The same for a route that answers with text. */
  async text<R extends RouteRow>(row: R, given: GivenCall<R>): Promise<string> {
    return await callText(row, this.#inputs.connections.signed, this.#full(given, {}) as Call<R>)
  }

  /** A call under a challenge. */
  signed<R extends RouteRow>(row: R, { body, ...given }: SignedCall<R>): Promise<ReplyOf<R>> {
    return this.#signing(row, body, signed =>
      this.plain(row, { ...given, body: signed } as unknown as GivenCall<R>),
    )
  }

  /** The same where the reply has long texts, which are handed to takers in their order. */
  lifting<R extends RouteRow>(
    row: R,
    { body, ...given }: SignedCall<R>,
    { send, ...texts }: Parameters<typeof callLifting>[3] & { send: Send },
  ): Promise<ReplyOf<R>> {
    return this.#signing(row, body, signed => {
      const full = this.#full({ ...given, body: signed } as unknown as GivenCall<R>, {})
      return callLifting(row, send, full as Call<R>, texts)
    })
  }

  async #signing<R extends RouteRow>(
    row: R,
    body: Unsigned<R>,
    ask: (signed: RequestOf<R>) => Promise<ReplyOf<R>>,
  ): Promise<ReplyOf<R>> {
    return await this.onceMoreInTime(() => ask(this.challenged(row, body)))
  }

  /** Tries what is signed anew for each try: once more where the first one told that the clocks are apart. */
  async onceMoreInTime<T>(attempt: () => Promise<T>): Promise<T> {
    const before = this.timeMs - this.#inputs.now()
    try {
      return await attempt()
    } catch (error) {
      const isStale = error instanceof Refused && error.status === 400
      if (!isStale || this.timeMs - this.#inputs.now() === before) throw error
      return await attempt()
    }
  }

  /** A request with its challenge, which holds for five minutes as often as it is shown. */
  challenged<R extends RouteRow>(row: R, body: Unsigned<R>, ts = this.timeMs): RequestOf<R> {
    const { identity, publication } = this.#inputs
    publication.check(body, () => callBody(row, body))
    const { apartMs = 0 } = this
    if (Math.abs(apartMs) > CLOCKS_APART_MAX_MS) throw clocksApart(apartMs)
    const { aid, seed, log } = identity
    const challenge = { action: row.action ?? '', aid, ts }
    return { ...body, ...signChallenge(challenge, { seed, seq: log.seq }) } as unknown as RequestOf<R>
  }

  #full<R extends RouteRow>(given: GivenCall<R>, headers: Headed): object {
    this.#talk.ensure()
    const sentAt = this.#inputs.now()
    return {
      signal: this.#inputs.timers.deadline(CALL_TIMEOUT_MS),
      ...given,
      baseUrl: this.#url,
      headers: { ...headers, [WIRE1_HEADER]: String(WIRE1) },
      readRefusal,
      onResponse: (response: Response) => this.#observe(response, sentAt),
    }
  }

  #observe(response: Response, sentAt: number): void {
    try {
      checkWire(response)
    } catch (error) {
      if (error instanceof OtherWire) this.#talk.stopForWire(error.message)
      throw error
    }
    this.#note(response, sentAt)
  }

  #note(response: Response, sentAt: number): void {
    if (response.headers.get(WIRE1_HEADER) === null) return
    this.#lastContact = this.#inputs.now()
    this.#hubDate.note(response, { sentAt, seenAt: this.#lastContact })
  }

  #noting(send: Send): Send {
    return async request => {
      const sentAt = this.#inputs.now()
      const response = await send(request)
      this.#note(response, sentAt)
      return response
    }
  }
}

/** A reply that names another agent than the one that was asked about. */
export function requireOf(aid: string, told: string): void {
  if (told !== aid) throw new ForeignAnswer(200, 'the hub told something of another agent')
}
