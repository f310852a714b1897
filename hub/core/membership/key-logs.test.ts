/** Verdicts on key event logs: what is verified, what is remembered, who pays. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { encodeKel, type KeyEvent } from '../../../protocol/identity/kel.ts'
import { openCore, refusedWith, type TestCore } from '../../testing/core.ts'
import { random, TestAgent } from '../../testing/hub.ts'
import { ratesInProcess } from '../in-process/rates.ts'
import { eventsOf, KeyLogs, newest } from './key-logs.ts'

const NOW_MS = 1_800_000_000_000
const VERDICT_LIFE_MS = 600_000
const ELSEWHERE = '198.51.100.1'

let core: TestCore
let logs: KeyLogs
let agent: TestAgent
beforeEach(async () => {
  core = await openCore(NOW_MS, { keyEventRate: { perSecond: 1, burst: 20 } })
  logs = new KeyLogs(core.context)
  const clock = { now: () => core.clock.ms, advance: () => undefined }
  agent = new TestAgent({ url: '', aid: core.context.identity.aid, clock })
})
afterEach(() => core.close())

const copy = (of: TestAgent): TestAgent => Object.assign(new TestAgent(of.target), { ...of })
const shown = (of: TestAgent, kel = encodeKel(of.log.events), address = ELSEWHERE) =>
  [{ aid: of.aid, events: eventsOf(of.aid, kel), address }, kel] as const
const judge = (of: TestAgent, held?: TestAgent['log'], kel?: Uint8Array) =>
  logs.judge(...shown(of, kel), held)
const told = (of: TestAgent, held?: TestAgent['log'], kel?: Uint8Array) =>
  refusedWith(() => judge(of, held, kel))

/** The log with a worthless signature at these places. */
const unsigned = (of: TestAgent, ...places: number[]): Uint8Array =>
  encodeKel(
    of.log.events.map(event =>
      places.includes(event.body.seq)
        ? { ...event, signatures: [[0, random(64)]] as KeyEvent['signatures'] }
        : event,
    ),
  )
const grown = (events: number): TestAgent => {
  while (agent.log.events.length < events) agent.rotate({ ts: agent.log.ts + 1 })
  return agent
}

describe('a log that is new', () => {
  test('holds when every signature does, at the edges of each turn as well', async () => {
    expect((await judge(grown(18))).headDigest).toEqual(agent.log.headDigest)
    for (const place of [0, 7, 8, 15, 16, 17]) {
      const memory = { ...core.context.memory, rates: ratesInProcess() }
      logs = new KeyLogs({ ...core.context, memory })
      expect([place, await told(agent, undefined, unsigned(agent, place))]).toEqual([place, 'keyLogInvalid'])
    }
  })

  test('is of the AID that its inception gives', async () => {
    const other = new TestAgent(agent.target)
    expect(await refusedWith(() => eventsOf(other.aid, encodeKel(agent.log.events)))).toBe('keyLogInvalid')
    for (const wrong of [random(50), Uint8Array.of(0x80), new Uint8Array(0)])
      expect(await refusedWith(() => eventsOf(agent.aid, wrong))).toBe('keyLogInvalid')
  })
})

describe('a log that is held', () => {
  test('is answered without a check, extended by what is new, and never shortened', async () => {
    const before = copy(agent).log
    grown(3)
    const verify = vi.spyOn(core.context.verifier, 'verify')
    expect(await judge(agent, agent.log)).toBe(agent.log)
    expect(verify).not.toHaveBeenCalled()
    expect((await judge(agent, before)).seq).toBe(2)
    expect(verify).toHaveBeenCalledTimes(2)
    const older = Object.assign(copy(agent), { log: before })
    expect(await told(older, agent.log)).toBe('keyLogOlder')
    expect(newest(agent.log, before)).toBe(agent.log)
    expect(newest(before, agent.log).seq).toBe(2)
  })

  test('that has ended is closed, to what goes on from it and to itself', async () => {
    agent.end()
    expect(await told(agent, agent.log)).toBe('identityDeactivated')
    expect(await told(agent)).toBeUndefined()
  })

  test('that forks is refused with both events kept as proof', async () => {
    const twin = copy(agent)
    grown(2)
    twin.rotate({ ts: twin.log.ts + 9 })
    const kept = vi.spyOn(core.context.store, 'keepForkProof')
    const alert = vi.spyOn(core.context, 'alert')
    expect(await told(twin, agent.log)).toBe('keyLogForked')
    expect(kept).toHaveBeenCalledWith(expect.objectContaining({ aid: agent.aid, seq: 1, seenMs: NOW_MS }))
    expect(alert).toHaveBeenCalledWith('key log forked', { aid: agent.aid, seq: 1 })
    expect(await refusedWith(() => newest(agent.log, twin.log))).toBe('keyLogForked')
  })
})

describe('a verdict', () => {
  test('on the bytes is remembered for ten minutes, without another check', async () => {
    const kel = unsigned(grown(3), 2)
    expect(await told(agent, undefined, kel)).toBe('keyLogInvalid')
    const verify = vi.spyOn(core.context.verifier, 'verify')
    core.clock.ms += VERDICT_LIFE_MS - 1
    expect(await told(agent, undefined, kel)).toBe('keyLogInvalid')
    expect(verify).not.toHaveBeenCalled()
    core.clock.ms += 1
    expect(await told(agent, undefined, kel)).toBe('keyLogInvalid')
    expect(verify).toHaveBeenCalled()
  })

  test('that may change is not', async () => {
    grown(2)
    const before = copy(agent).log
    grown(3)
    const older = Object.assign(copy(agent), { log: before })
    expect(await told(older, agent.log)).toBe('keyLogOlder')
    expect(await told(older)).toBeUndefined()
  })
})

describe('new events', () => {
  test('are paid by their AID and their address, whatever their verdict; a proxy pays for nobody', async () => {
    const strangers = Array.from({ length: 3 }, () => new TestAgent(agent.target))
    const cost = async (of: TestAgent, address: string, events: number) => {
      while (of.log.events.length < events) of.rotate({ ts: of.log.ts + 1 })
      return await refusedWith(() => logs.judge(...shown(of, undefined, address), undefined))
    }
    const [one, two, three] = strangers as [TestAgent, TestAgent, TestAgent]
    expect(await cost(one, ELSEWHERE, 12)).toBeUndefined()
    expect(await cost(two, ELSEWHERE, 9)).toBe('rateLimited')
    expect(await cost(two, '198.51.100.2', 9)).toBeUndefined()
    expect(await cost(one, '198.51.100.3', 12)).toBe('rateLimited')
    expect(await cost(three, '127.0.0.1', 20)).toBeUndefined()
    core.clock.ms += 4000
    expect(await cost(one, '198.51.100.4', 12)).toBeUndefined()
  })
})

describe('the longest of two', () => {
  const longest = (of: TestAgent, held?: TestAgent['log']) => logs.longest(shown(of)[0], held)

  test('is the held one where the shown one only begins like it', async () => {
    const before = copy(agent).log
    grown(3)
    const older = Object.assign(copy(agent), { log: before })
    expect(await longest(older, agent.log)).toBe(agent.log)
    expect((await longest(agent, before)).seq).toBe(2)
    expect((await longest(agent)).seq).toBe(2)
  })

  test('is none where they differ', async () => {
    const twin = copy(agent)
    grown(3)
    twin.rotate({ ts: twin.log.ts + 9 })
    expect(await refusedWith(() => longest(twin, agent.log))).toBe('keyLogForked')
  })
})
