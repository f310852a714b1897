/** Taking an envelope in: what head and credential decide, what is queued, and what a refused one leaves. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { encodeKel } from '../../protocol/identity/kel.ts'
import { KEY_SET_LIFE_MS, type KeySet } from '../../protocol/identity/keyset.ts'
import { decodeAccess } from '../../protocol/mail/access.ts'
import { EXP_AHEAD_MS, EXP_SKEW_MS } from '../../protocol/mail/envelope.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { type AgentRow, StoreAway, StoreFull } from '../store/port.ts'
import { agentOf, openCore, refusedWith, type TestCore } from '../testing/core.ts'
import type { TestAgent } from '../testing/hub.ts'
import { sealedForStranger, sealedUnderCapability, type TestEnvelope } from '../testing/mail.ts'
import { agentRow } from '../testing/store-contract.ts'
import { type Agent, Agents, readAgent, withKeys } from './agents.ts'
import { SignerClocks } from './clocks.ts'
import type { DestinationKind, Sent, Taking } from './destination.ts'
import { HeldPolls } from './held-polls.ts'
import { AgentsHere } from './here.ts'
import { cachesInProcess } from './in-process/caches.ts'
import { HOUR_MS, INLINE_BYTES_MAX } from './limits.ts'
import { Refusal } from './refusal.ts'
import { Sends } from './sends.ts'
import { Sessions } from './sessions.ts'

const NOW_MS = 1_800_000_000_000
const LARGE = { contentBytes: INLINE_BYTES_MAX }

let core: TestCore
let agents: Agents
let polls: HeldPolls
let sessions: Sessions
let here: AgentsHere
let sends: Sends
let bob: TestAgent
beforeEach(() => open())
afterEach(() => core.close())

async function open(limits: Parameters<typeof openCore>[1] = {}): Promise<void> {
  core = await openCore(NOW_MS, limits)
  agents = new Agents(core.context)
  polls = new HeldPolls(10, core.context.memory.wakeUps, systemTimers)
  sessions = new Sessions(core.context)
  const clocks = new SignerClocks(core.context)
  here = new AgentsHere(core.context, { agents, clocks, sessions, polls })
  sends = new Sends(core.context, [here])
  bob = agentOf(core)
  await publish()
}

/** Stores bob, with another key set than before. */
async function publish(graceMs = 0): Promise<void> {
  bob.makeKeys({ fresh: true })
  const row = agentRow(bob.aid, { kel: encodeKel(bob.log.events), card: undefined })
  await agents.update(bob.aid, held =>
    withKeys(held ?? readAgent(row), bob.keySet as KeySet, core.clock.ms + graceMs),
  )
}

type Given = { home?: string; declared?: number; accessBytes?: Uint8Array; accepted?: (aid: string) => void }
function send(envelope: TestEnvelope, { declared, accessBytes, accepted, home }: Given = {}) {
  const chunks = [envelope.bytes.slice()]
  return sends.send({
    access: decodeAccess(envelope.accessBytes),
    accessBytes: accessBytes ?? envelope.accessBytes,
    session: undefined,
    towards: sends.towards(home),
    source: { next: async () => chunks.shift(), accept: aid => accepted?.(aid) },
    declared,
  })
}
const told = (envelope: TestEnvelope, given?: Given) => refusedWith(async () => await send(envelope, given))
const sealed = (options: Parameters<typeof sealedUnderCapability>[2] = {}, capability = bob.capability()) =>
  sealedUnderCapability(bob, capability, options)
/** Files of envelopes on the disk. */
const files = (): string[] =>
  readdirSync(join(core.directory, 'blobs'), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ name }) => name)

describe('an envelope under a capability', () => {
  test('is queued, its recipient woken, and a repeat is a duplicate of it', async () => {
    const { number } = (await agents.find(bob.aid))?.row ?? { number: 0 }
    const held = polls.wait(number, 60_000, () => () => undefined).then(({ end }) => end)
    const accepted = vi.fn()
    const envelope = sealed()
    const sent = await send(envelope, { accepted })
    expect(sent).toMatchObject({ status: 'queued', recipientQuiet: true })
    expect(sent.rid.length).toBe(16)
    expect(await held).toBe('mail')
    expect(accepted).toHaveBeenCalledExactlyOnceWith(bob.aid)
    expect(await send(envelope)).toEqual({ ...sent, status: 'duplicate' })
  })

  test('that is large is found again before its content is read', async () => {
    const envelope = sealed(LARGE)
    const { rid } = await send(envelope)
    const accepted = vi.fn()
    expect(await send(envelope, { accepted })).toMatchObject({ status: 'duplicate', rid })
    expect(accepted).not.toHaveBeenCalled()
  })

  test('waits as long as it says, and no longer than the hub keeps mail', async () => {
    const { envelopeLifeMs } = core.context.limits
    const { store } = core.context
    const queued = vi.spyOn(store, 'enqueue')
    await send(sealed({ expMs: NOW_MS + HOUR_MS }))
    await send(sealed({ expMs: NOW_MS + EXP_AHEAD_MS }))
    const ends = queued.mock.calls.map(([item]) => item.deleteAtMs - NOW_MS)
    expect(ends).toEqual([HOUR_MS, Math.min(EXP_AHEAD_MS, envelopeLifeMs)])
  })

  test('tells whether its recipient has collected nothing for an hour', async () => {
    const agent = await agents.find(bob.aid)
    if (agent !== undefined) agents.noteSeen(agent)
    expect((await send(sealed())).recipientQuiet).toBe(false)
  })
})

describe('an envelope is refused that', () => {
  test('is over, is not over now, or would wait too long', async () => {
    expect(await told(sealed({ expMs: NOW_MS }))).toBe('expired')
    core.clock.ms += 1
    expect(await told(sealed({ expMs: NOW_MS + HOUR_MS }))).toBeUndefined()
    core.clock.ms -= 1
    const latest = Math.floor((NOW_MS + EXP_AHEAD_MS + EXP_SKEW_MS) / HOUR_MS) * HOUR_MS
    expect(await told(sealed({ expMs: latest }))).toBeUndefined()
    expect(await told(sealed({ expMs: latest + HOUR_MS }))).toBe('expiryTooFar')
  })

  test('shows another credential than it holds', async () => {
    expect(await told(sealed(), { accessBytes: sealed().accessBytes })).toBe('envelopeMalformed')
  })

  test('has another length than declared, or is larger than the limit', async () => {
    const envelope = sealed()
    expect(await told(envelope, { declared: envelope.bytes.length - 1 })).toBe('envelopeMalformed')
    await core.close()
    await open({ envelopeBytesMax: 10_000 })
    const [small] = [sealed({ contentBytes: 100 })]
    const room = 10_000 - small.bytes.length
    expect(await told(sealed({ contentBytes: 100 + room - 2 }))).toBeUndefined()
    await expect(send(sealed({ contentBytes: 10_000 }))).rejects.toMatchObject({
      code: 'tooLarge',
      facts: { limitBytes: 10_000 },
    })
  })

  test('is for nobody here, or for one without keys', async () => {
    const stranger = agentOf(core)
    expect(await told(sealed({ to: stranger.aid }))).toBe('recipientUnknown')
    const row = agentRow(stranger.aid, {
      kel: encodeKel(stranger.log.events),
      keys: undefined,
      card: undefined,
    })
    await agents.update(stranger.aid, () => readAgent(row))
    expect(await told(sealed({ to: stranger.aid }))).toBe('recipientUnknown')
  })

  test('is a first contact without a session', async () => {
    expect(await told(sealedForStranger(bob))).toBe('sessionInvalid')
  })
})

describe('the key that an envelope is sealed to', () => {
  test('is of the present set until its end, or of the one before until the end of its grace', async () => {
    const before = bob.kid
    await publish(HOUR_MS)
    const at = (ms: number, kid: Uint8Array) => {
      core.clock.ms = NOW_MS + ms
      return told(sealed({ kid }))
    }
    expect(await at(HOUR_MS - 1, before)).toBeUndefined()
    expect(await at(HOUR_MS, before)).toBe('kidStale')
    expect(await at(0, new Uint8Array(bob.kid.length))).toBe('kidStale')
    expect(await at(KEY_SET_LIFE_MS, bob.kid)).not.toBe('kidStale')
    expect(await at(KEY_SET_LIFE_MS + 1, bob.kid)).toBe('kidStale')
  })
})

describe('a store without room', () => {
  test('is a hub that takes no mail now to the sender, and no file stays', async () => {
    const { store } = core.context
    const enqueue = store.enqueue
    store.enqueue = async () => {
      throw new StoreFull('no room')
    }
    expect(await told(sealed(LARGE))).toBe('overloaded')
    expect(files()).toEqual([])
    store.enqueue = enqueue
    expect((await send(sealed(LARGE))).status).toBe('queued')
    expect(files().length).toBe(1)
  })

  test('of which nobody knows whether it wrote the row keeps the file', async () => {
    const { store } = core.context
    store.enqueue = async () => {
      throw new StoreAway('away')
    }
    await expect(send(sealed(LARGE))).rejects.toBeInstanceOf(StoreAway)
    expect(files().length).toBe(1)
  })

  test.each([
    ['enough of both', 16 * 1024 * 1024, 4 * INLINE_BYTES_MAX, false],
    ['too little for files', 16 * 1024 * 1024 - 1, 4 * INLINE_BYTES_MAX, true],
    ['too little for rows', 16 * 1024 * 1024, 4 * INLINE_BYTES_MAX - 1, true],
  ])('is short of it until a look a minute later finds %s', async (_, disk, rows, short) => {
    const { store } = core.context
    store.enqueue = async () => {
      throw new StoreFull('no room')
    }
    expect(sends.isShortOfRoom).toBe(false)
    await told(sealed())
    expect(sends.isShortOfRoom).toBe(true)
    Object.assign(store.local ?? {}, { room: async () => ({ disk, rows }) })
    core.clock.ms += 60_000
    await sends.lookForRoom()
    expect(sends.isShortOfRoom).toBe(short)
    sends.close()
  })

  test.each([
    ['mailboxFull', 'mailboxFull'],
    ['strangersFull', 'strangersBusy'],
    ['queuedTooOften', 'queuedTooOften'],
    ['noMailbox', 'recipientUnknown'],
    ['usedUp', 'accessInvalid'],
  ])('%s is said as %s', async (outcome, code) => {
    core.context.store.enqueue = async () => ({ outcome }) as never
    expect(await told(sealed())).toBe(code)
  })
})

describe('while its content comes, another process', () => {
  /** What is queued first is judged by a row that has changed since. */
  function meanwhile(change: () => Promise<unknown>) {
    const { store } = core.context
    const enqueue = store.enqueue
    return vi.spyOn(store, 'enqueue').mockImplementationOnce(async item => {
      await change()
      return await enqueue(item)
    })
  }
  const others = () => new Agents({ ...core.context, memory: { caches: cachesInProcess() } })
  const changed = (row: Partial<AgentRow>) =>
    others().update(bob.aid, held => ({ ...(held as Agent), row: { ...(held as Agent).row, ...row } }))

  test.each([
    ['that is small', {}],
    ['that is large', LARGE],
  ])('changed the row of the recipient: an envelope %s is judged anew and queued once', async (_, size) => {
    const queued = meanwhile(() => changed({ name: 'other' }))
    const envelope = sealed(size)
    const { rid } = await send(envelope)
    expect(queued).toHaveBeenCalledTimes(2)
    expect(await send(envelope)).toMatchObject({ status: 'duplicate', rid })
    const { number = 0 } = (await core.context.store.findAgent(bob.aid)) ?? {}
    const of = { mailbox: number, ids: [1] }
    const [bytes] = [...(await core.context.store.contents(of)).values()]
    expect(bytes === undefined ? files().length : Buffer.compare(bytes, envelope.bytes)).toBe(
      bytes === undefined ? 1 : 0,
    )
  })

  test('took the recipient off the registry: it is refused, and no file stays', async () => {
    meanwhile(() => changed({ registered: false }))
    expect(await told(sealed(LARGE))).toBe('recipientUnknown')
    expect(files()).toEqual([])
  })

  test('stored other keys: an envelope to those of before is refused', async () => {
    meanwhile(async () => {
      bob.makeKeys({ fresh: true })
      await others().update(bob.aid, held => withKeys(held as Agent, bob.keySet as KeySet, core.clock.ms))
    })
    expect(await told(sealed())).toBe('kidStale')
  })

  test('always was faster: the sender is told to come again', async () => {
    const { store } = core.context
    store.enqueue = async ({ content }) => ({ outcome: 'moved', content })
    expect(await told(sealed())).toBe('overloaded')
  })
})

describe('a destination of another kind', () => {
  const PEER = 'A-peer'
  /** Everything that was piped to it, and whether it was taken back. */
  let piped: Uint8Array[]
  let dropped: string[]
  let takes: () => Promise<Sent>
  beforeEach(() => {
    piped = []
    dropped = []
    takes = async () => ({ status: 'queued', rid: new Uint8Array(16), recipientQuiet: false })
    const writer = {
      write: async (chunk: Uint8Array) => void piped.push(chunk.slice()),
      commit: async () => undefined,
      abort: async () => undefined,
    }
    const taking: Taking = {
      recipient: PEER,
      sink: { inlineBytesMax: 0, create: async () => ({ file: 'a connection', writer }) },
      take: () => takes(),
      drop: async ({ file }) => void dropped.push(String(file)),
    }
    const peer: DestinationKind = {
      towards: home =>
        home === PEER
          ? { find: async to => (to === bob.aid ? undefined : { judge: async () => ({ taking }) }) }
          : undefined,
    }
    sends = new Sends(core.context, [here, peer])
  })
  const away = (options = {}) => sealed({ to: agentOf(core).aid, ...options })

  test.each([
    ['small', {}],
    ['large', LARGE],
  ])('gets what is %s as it comes, and nothing of it stays here', async (_, size) => {
    const asked = [vi.spyOn(core.context.store, 'findAgent'), vi.spyOn(core.context.store, 'enqueue')]
    const envelope = away(size)
    const accepted = vi.fn()
    expect(await send(envelope, { home: PEER, accepted })).toMatchObject({ status: 'queued' })
    expect(Buffer.compare(Buffer.concat(piped), envelope.bytes)).toBe(0)
    expect(accepted).toHaveBeenCalledExactlyOnceWith(PEER)
    expect([...asked.map(one => one.mock.calls.length), files().length]).toEqual([0, 0, 0])
    expect(dropped).toEqual([])
  })

  test('is asked for whoever is sent there, and is told what it did not take', async () => {
    expect(await told(sealed(), { home: PEER })).toBe('recipientUnknown')
    expect(await told(away())).toBe('recipientUnknown')
    takes = () => Promise.reject(new Refusal('overloaded'))
    expect(await told(away(), { home: PEER })).toBe('overloaded')
    expect(dropped).toEqual(['a connection'])
  })

  test('is none where nobody sends to that home', async () => {
    expect(await told(sealed(), { home: 'A-nobody' })).toBe('recipientUnknown')
    expect((await send(sealed(), { home: core.context.identity.aid })).status).toBe('queued')
  })
})
