/** For tests: agents with open mail, and requests of wire 1 as they go over HTTP. */
import { expect } from 'vitest'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { toBase64, utf8 } from '../../protocol/encoding/bytes.ts'
import { encodeKel, incept, rotate, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { Authorization } from '../../protocol/proof/payment.ts'
import { type ChallengeMembers, signChallenge } from '../../protocol/wire1/challenge.ts'
import { type Wire1RouteName, wire1Routes } from '../../protocol/wire1/routes.ts'
import { random, type TestHub } from './hub.ts'
import type { Paid } from './payments.ts'

export type Wire1Reply = { status: number; json: Record<string, unknown>; headers: Headers }
type Headed = Record<string, string>

/** A hub of this process, or another one whose operator lets agents in. */
export type Wire1Hub = Pick<TestHub, 'url' | 'aid' | 'clock'> & {
  running: {
    wire1?: { url: string } | undefined
    order(given: { command: 'admit'; aid: string }): Promise<unknown>
  }
}

/** Asks one hub over wire 1. */
export class Wire1Client {
  readonly hub: Wire1Hub

  constructor(hub: Wire1Hub) {
    this.hub = hub
  }

  /** Where the hub speaks wire 1; one that was started again has another address. */
  get url(): string {
    return this.hub.running.wire1?.url ?? this.hub.url
  }

  async ask(method: string, path: string, body?: unknown, headers: Headed = {}): Promise<Wire1Reply> {
    const sent = { method, headers: { 'Content-Type': 'application/json', ...headers } }
    const given = body === undefined ? sent : { ...sent, body: JSON.stringify(body) }
    const answer = await fetch(`${this.url}${path}`, given)
    const text = await answer.text()
    return { status: answer.status, json: text === '' ? {} : JSON.parse(text), headers: answer.headers }
  }

  get = (path: string) => this.ask('GET', path)
  post = (path: string, body: unknown) => this.ask('POST', path, body)

  /** An agent that the operator let in, and that has registered. */
  async registered(more: Record<string, unknown> = {}): Promise<OpenAgent> {
    const agent = new OpenAgent(this)
    await this.hub.running.order({ command: 'admit', aid: agent.aid })
    const { status, json } = await agent.register(more)
    if (status !== 200) throw new Error(`not registered: ${JSON.stringify(json)}`)
    return agent
  }
}

type Identity = { seed: Uint8Array; nextSeed: Uint8Array; log: VerifiedKel }
type SignedBy = { seq?: number; ts?: number }

/** An agent with its keys; `sign` makes the members of a challenge. */
export class OpenAgent {
  readonly #client: Wire1Client
  readonly #seeds: Uint8Array[]
  log: VerifiedKel

  /** One that nobody knows, or the identity of another one. */
  constructor(client: Wire1Client, { seed, nextSeed, log }: Partial<Identity> = {}) {
    this.#client = client
    const seeds = { seed: seed ?? random(32), nextSeed: nextSeed ?? random(32) }
    this.#seeds = [seeds.seed, seeds.nextSeed]
    this.log = log ?? incept({ ...seeds, ts: client.hub.clock.now() })
  }

  get aid(): string {
    return this.log.aid
  }

  /** Where it has its account. */
  get target(): Wire1Hub {
    return this.#client.hub
  }

  get kel(): string {
    return toBase64(encodeKel(this.log.events))
  }

  /** Of its newest key. */
  get seed(): Uint8Array {
    return this.#seeds[this.log.seq] as Uint8Array
  }

  get nowMs(): number {
    return this.#client.hub.clock.now()
  }

  rotate(): void {
    const seed = this.#seeds.at(-1) as Uint8Array
    const nextSeed = random(32)
    this.#seeds.push(nextSeed)
    this.log = rotate(this.log, { seed, nextSeed, ts: this.#client.hub.clock.now() })
  }

  sign(
    action: string,
    { seq = this.log.seq, ts = this.#client.hub.clock.now() }: SignedBy = {},
  ): ChallengeMembers {
    return signChallenge({ action, aid: this.aid, ts }, { seed: this.#seeds[seq] as Uint8Array, seq })
  }

  register(more: Record<string, unknown> = {}): Promise<Wire1Reply> {
    return this.#client.post('/register', { ...this.sign('register'), kel: this.kel, name: 'bob', ...more })
  }

  poll(more: Record<string, unknown> = {}): Promise<Wire1Reply> {
    return this.#client.post('/relay/poll', { ...this.sign('poll'), ...more })
  }
}

/** Expects an answer to be what the row of its route says, with nothing beside it. */
export function expectReply(name: Wire1RouteName, { json }: Wire1Reply): void {
  const row: RouteRow = wire1Routes[name]
  expect(row.reply?.parse(json)).toEqual(json)
}

type Payload = { payload: { authorization: string } }

/** A request of x402 with its authorization in the base64 of this wire. */
export function inBase64({ authorization, request }: Paid): Record<string, unknown> {
  const payload = { authorization: toBase64(Authorization.encode(authorization)) }
  return { ...request, paymentPayload: { ...(request['paymentPayload'] as Payload), payload } }
}

/** The header in which a payer shows its payment to the gateway. */
export const paymentHeader = (paid: Paid): string =>
  toBase64(utf8(JSON.stringify(inBase64(paid)['paymentPayload'])))
