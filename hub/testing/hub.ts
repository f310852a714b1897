/** For tests and measurements: a hub in a temporary folder with a clock that can be set, and agents that talk to it. */

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callBody, callPath } from '../../protocol/contract/client.ts'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { publicKey } from '../../protocol/crypto/engine.node.ts'
import { xwingPublicKey } from '../../protocol/crypto/xwing.ts'
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { deactivate, encodeKel, incept, rotate, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { KEY_SET_LIFE_MS, KeySet, kidOf } from '../../protocol/identity/keyset.ts'
import { Capability } from '../../protocol/mail/capability.ts'
import { openSession } from '../../protocol/mail/session.ts'
import { headers, WIRE } from '../../protocol/wire3/headers.ts'
import { type Wire3RouteName, wire3Routes } from '../../protocol/wire3/routes.ts'
import { signRequest } from '../../protocol/wire3/signed-request.ts'
import type { AdminGiven } from '../admin-listening.ts'
import type { Config } from '../config.ts'
import type { About } from '../core/about.ts'
import { DAY_MS, defaultLimits, HOUR_MS, type Limits } from '../core/limits.ts'
import { UNNAMED_CODE } from '../http/pipeline.ts'
import { type RunningHub, startHub } from '../serve.ts'
import { hubDirectory } from './begun-directory.ts'
import { KeptThreads } from './kept-threads.ts'

/** After a start every signing time must lie above start + 2 s. */
const PAST_START_FLOOR_MS = 3000
const MORNING_MS = 6 * HOUR_MS
const KIB = 1024

/** Of the stores of all hubs in this process. */
export const threads = new KeptThreads()

export const random = (count: number): Uint8Array => new Uint8Array(randomBytes(count))

export type TestClock = { now(): number; advance(ms: number): void }

export function makeClock(): TestClock {
  let offsetMs = 0
  return {
    now: () => Date.now() + offsetMs,
    advance(ms) {
      offsetMs += ms
    },
  }
}

const toMorning = (nowMs: number): number => (DAY_MS + MORNING_MS - (nowMs % DAY_MS)) % DAY_MS

export type TestHub = {
  running: RunningHub
  url: string
  aid: string
  directory: string
  clock: TestClock
  alerts: { event: string; facts: Record<string, unknown> }[]
  /** Stops the hub and starts it again on the same directory and port-independent state; `meanwhile` runs in between. */
  restart(meanwhile?: () => void): Promise<void>
  close(): Promise<void>
}

export type TestHubOptions = {
  /** Its clock begins at six, for tests that let hours pass within one UTC day at whatever time they are run. */
  inTheMorning?: boolean
  limits?: Partial<Limits>
  open?: boolean
  wires?: Config['wires']
  /** A listener of wire 1 beside the first one. */
  wire1?: Config['wire1']
  wire1Federation?: Config['wire1Federation']
  groupMax?: number
  directory?: string
  /** Its rows lie there, not in the directory. */
  database?: Config['database']
  about?: About
  baseUrl?: string
  checkpointWitnesses?: Config['checkpointWitnesses']
  docs?: string
  guests?: boolean
  guestScript?: string
  operatorListen?: Config['operatorListen']
  /** The surface of the operator, under `/admin` unless a base is given. */
  admin?: Partial<AdminGiven> & { tokens: AdminGiven['tokens']; base?: string }
}

/** Where rows lie in a database, the directory has none. */
const newDirectory = ({ database }: TestHubOptions): string =>
  database === undefined ? hubDirectory('svc-hub-') : mkdtempSync(join(tmpdir(), 'svc-hub-'))

/** Starts a hub in this process, in a folder that goes away with it. */
export async function startTestHub(options: TestHubOptions = {}): Promise<TestHub> {
  const directory = options.directory ?? newDirectory(options)
  const clock = makeClock()
  if (options.inTheMorning === true) clock.advance(toMorning(clock.now()))
  const alerts: TestHub['alerts'] = []
  const note = (event: string, facts: Record<string, unknown>): void => void alerts.push({ event, facts })
  const start = async (): Promise<RunningHub> => {
    const config: Config = {
      wires: options.wires ?? [3],
      listen: { host: '127.0.0.1', port: 0 },
      baseUrl: options.baseUrl,
      dataDir: directory,
      ...present({
        about: options.about,
        checkpointWitnesses: options.checkpointWitnesses,
        docs: options.docs,
        database: options.database,
        guests: options.guests,
        operatorListen: options.operatorListen,
        admin: options.admin && {
          listen: { host: '127.0.0.1', port: 0 },
          base: options.admin.base ?? '/admin',
        },
        wire1: options.wire1,
        wire1Federation: options.wire1Federation,
      }),
      limits: { ...defaultLimits, ...options.limits },
    }
    const running = await startHub({
      config,
      log: { info: note, warn: note, error: note },
      now: clock.now,
      onBroken: () => undefined,
      threads,
      ...present({
        groupMax: options.groupMax,
        guestScript: options.guestScript,
        admin: options.admin && { page: () => undefined, ...options.admin },
      }),
    })
    clock.advance(PAST_START_FLOOR_MS)
    return running
  }
  const hub: TestHub = {
    running: await start(),
    get url() {
      return hub.running.url
    },
    get aid() {
      return hub.running.aid
    },
    directory,
    clock,
    alerts,
    async restart(meanwhile) {
      await hub.running.close()
      meanwhile?.()
      hub.running = await start()
    },
    async close() {
      await hub.running.close()
      rmSync(directory, { recursive: true, force: true })
      const unnamed = alerts.filter(({ facts }) => facts['id'] === UNNAMED_CODE)
      if (unnamed.length > 0) throw new Error(`codes that no row names: ${JSON.stringify(unnamed)}`)
    },
  }
  if (options.open === true) await hub.running.hub.context.store.putSetting('admission', 'open')
  return hub
}

/** Where requests go: a hub of this process or another one. */
export type Target = { url: string; aid: string; clock: TestClock }

export type Reply = { status: number; headers: Headers; json: Record<string, unknown> }
export type Extra = {
  params?: Record<string, string>
  query?: Record<string, string>
  headers?: Record<string, string>
  signal?: AbortSignal
}

/** Sends a request as it stands; bodies that are no bytes go out as JSON. */
export async function request(
  url: string,
  method: string,
  given: { headers?: Record<string, string>; body?: Uint8Array | string; signal?: AbortSignal } = {},
): Promise<Reply> {
  const response = await fetch(url, {
    method,
    headers: { [headers.wire]: String(WIRE), ...given.headers },
    ...(given.body === undefined ? {} : { body: given.body as string }),
    ...present({ signal: given.signal }),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    json: /json/.test(response.headers.get('Content-Type') ?? '')
      ? (JSON.parse(text) as Record<string, unknown>)
      : { text },
  }
}

/** Calls a route without a signature. */
export async function callRoute(
  target: Pick<Target, 'url'>,
  name: Wire3RouteName,
  body: unknown,
  extra: Extra = {},
): Promise<Reply> {
  const row: RouteRow = wire3Routes[name]
  const bytes = callBody(row, body)
  return await request(target.url + callPath(row, extra), row.method, {
    ...(row.method === 'GET' ? {} : { body: bytes }),
    headers: {
      ...(row.request === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...extra.headers,
    },
    ...present({ signal: extra.signal }),
  })
}

export type TestCapability = { capability: Capability; holderSeed: Uint8Array }
export type TestSession = { sid: Uint8Array; macKey: Uint8Array; quota: number; expMs: number }

/** The simulation of a node: identity, keys, capabilities, sessions, envelopes with meaningless content. */
export class TestAgent {
  /** Where it is registered; a hub that was started again has another address. */
  target: Target
  log: VerifiedKel
  seed: Uint8Array
  nextSeed = random(32)
  mailboxSeed = random(32)
  epoch = random(16)
  encryptionSeed = random(32)
  strangers = { bytes: 384 * KIB, perDay: 100 }
  keySet: KeySet | undefined
  #lastTsMs = 0

  constructor(target: Target, options: { bornMs?: number } = {}) {
    this.target = target
    this.seed = random(32)
    this.log = incept({
      seed: this.seed,
      nextSeed: this.nextSeed,
      ts: options.bornMs ?? target.clock.now() - 1000,
    })
  }

  get aid(): string {
    return this.log.aid
  }

  get kel(): string {
    return toBase64url(encodeKel(this.log.events))
  }

  get kid(): Uint8Array {
    return kidOf(xwingPublicKey(this.encryptionSeed))
  }

  /** Reveals the committed key and commits to another. */
  rotate(options: { ts?: number; home?: string } = {}): void {
    const nextSeed = random(32)
    this.log = rotate(this.log, {
      seed: this.nextSeed,
      nextSeed,
      ts: options.ts ?? this.target.clock.now(),
      home: options.home ?? this.target.aid,
    })
    this.seed = this.nextSeed
    this.nextSeed = nextSeed
  }

  /** Ends the identity for good. */
  end(): void {
    this.log = deactivate(this.log, { seed: this.nextSeed, ts: this.target.clock.now() })
  }

  /** The next key set; `fresh` draws a new encryption key. */
  makeKeys(options: { fresh?: boolean; setSeq?: number } = {}): string {
    if (options.fresh === true) this.encryptionSeed = random(32)
    const ts = this.target.clock.now()
    const key = xwingPublicKey(this.encryptionSeed)
    const sameState = this.keySet !== undefined && this.keySet.body.kelSeq === this.log.seq
    const setSeq = options.setSeq ?? (sameState ? (this.keySet?.body.setSeq ?? 0) + 1 : 1)
    this.keySet = KeySet.sign(this.seed, {
      v: 1,
      aid: this.aid,
      kelSeq: this.log.seq,
      setSeq,
      ts,
      exp: ts + KEY_SET_LIFE_MS,
      keys: [{ kid: kidOf(key), suite: 1, publicKey: key, notBefore: ts, notAfter: ts + 8 * 24 * HOUR_MS }],
      mailboxKey: publicKey(this.mailboxSeed),
      mailboxEpoch: this.epoch,
      strangers: this.strangers,
    })
    return toBase64url(KeySet.encode(this.keySet))
  }

  /** A signed call of a route, with a time above every one used before. */
  async call(name: Wire3RouteName, body: unknown, extra: Extra = {}): Promise<Reply> {
    const row: RouteRow = wire3Routes[name]
    const path = callPath(row, extra)
    const bytes = callBody(row, body)
    const signed = this.sign(row.action ?? '', row.method, path, bytes)
    return await request(this.target.url + path, row.method, {
      ...(row.method === 'GET' ? {} : { body: bytes }),
      headers: { 'Content-Type': 'application/json', ...signed, ...extra.headers },
      ...present({ signal: extra.signal }),
    })
  }

  /** The headers of a signed request. */
  sign(
    action: string,
    method: string,
    path: string,
    body: Uint8Array,
    given: { ts?: number; hub?: string } = {},
  ): Record<string, string> {
    const ts = given.ts ?? this.nextTs()
    const hub = given.hub ?? this.target.aid
    return signRequest(
      { action, aid: this.aid, hub, ts, method, path, body },
      { seed: this.seed, seq: this.log.seq },
    )
  }

  nextTs(): number {
    this.#lastTsMs = Math.max(this.target.clock.now(), this.#lastTsMs + 1)
    return this.#lastTsMs
  }

  /** Names the hub as home and registers with a first key set; the AID must be admitted already. */
  async register(more: Record<string, unknown> = {}): Promise<Reply> {
    if (this.log.home !== this.target.aid) this.rotate()
    return await this.call('register', { aid: this.aid, kel: this.kel, enc_keys: this.makeKeys(), ...more })
  }

  /** 00:00 UTC after so many whole days, by the clock of the hub. */
  endOfDay(days: number): number {
    return (Math.floor(this.target.clock.now() / DAY_MS) + days + 1) * DAY_MS
  }

  capability(options: { usesPerDay?: number; bytesMax?: number; expMs?: number } = {}): TestCapability {
    const holderSeed = random(32)
    const capability = Capability.sign(this.mailboxSeed, {
      v: 1,
      id: random(16),
      recipient: this.aid,
      epoch: this.epoch,
      holderKey: publicKey(holderSeed),
      expMs: options.expMs ?? this.endOfDay(1),
      usesPerDayMax: options.usesPerDay ?? 32,
      bytesMax: options.bytesMax ?? 96 * KIB * KIB,
    })
    return { capability, holderSeed }
  }

  /** Opens a sending session at the hub. */
  async openSession(): Promise<TestSession> {
    const seed = random(32)
    const reply = await this.call('relaySession', { epk: toBase64url(xwingPublicKey(seed)) })
    if (reply.status !== 200) throw new Error(`no session: ${JSON.stringify(reply.json)}`)
    const bytes = (name: string): Uint8Array => fromBase64url(reply.json[name] as string)
    const sid = bytes('sid')
    const grant = openSession(seed, { hub: this.target.aid, sid, aid: this.aid }, bytes('enc'), bytes('ct'))
    return { sid, ...grant }
  }

  async poll(body: { limit?: number; after_id?: number } = {}, extra: Extra = {}): Promise<Polled> {
    const reply = await this.call('relayPoll', body, extra)
    if (reply.status !== 200) throw new Error(`no poll: ${JSON.stringify(reply.json)}`)
    return reply.json as unknown as Polled
  }
}

export type Polled = {
  messages: { id: number; envelope: string; accepted_at: number }[]
  more: boolean
  key_state_notice: string
}

/** An agent that the operator admitted and that has registered. */
export async function registeredAgent(hub: TestHub, setUp?: (agent: TestAgent) => void): Promise<TestAgent> {
  const agent = new TestAgent(hub)
  setUp?.(agent)
  await hub.running.hub.context.store.admit(agent.aid, true)
  const reply = await agent.register()
  if (reply.status !== 200) throw new Error(`not registered: ${JSON.stringify(reply.json)}`)
  return agent
}
