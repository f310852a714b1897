/** An identity that was made while its machine's clock ran ahead. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ClocksApart, presented } from '../hubs/hub.ts'
import { noteRegistered, writeHome } from '../store/hubs.ts'
import { DAY_MS, HOUR_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { refusedWith, ScriptedHub } from '../testing/scripted-hub.ts'
import { Admission, clockAheadWarning } from './clock-ahead.ts'

let world: TestWorld
let node: TestNode
let other: TestNode
/** As a node finds it that never registered: its identity is dated by the clock of this world. */
let hub: ScriptedHub

beforeEach(async () => {
  world = new TestWorld()
  node = await world.node('nora')
  other = await world.node('otto')
  hub = new ScriptedHub(world.post, node.aid, () => world.clock.ms)
})
afterEach(() => world[Symbol.asyncDispose]())

const check = () => new Admission(node.ctx, node.ctx).check(hub)
/** The clock was ahead when the identity was made, and is right now. */
const wasAhead = (ms = DAY_MS) => world.pass(-ms)
const warning = () => clockAheadWarning(node.ctx.store, node.aid, node.ctx.now())

describe('an identity that is dated ahead', () => {
  test('and that nobody has seen is made anew, which its owner is told for a week', async () => {
    const before = node.aid
    expect(warning()).toBeUndefined()
    wasAhead()
    await check()
    expect(node.aid).not.toBe(before)
    expect(node.ctx.identity.log.ts).toBe(world.clock.ms)
    expect(hub.calls).toEqual(['checkAdmission', 'checkAdmission'])
    expect(node.heard).toContainEqual(expect.objectContaining({ type: 'settings' }))
    expect(warning()).toContain(`its AID is ${node.aid}, no longer ${before}`)
    world.pass(7 * DAY_MS)
    expect(warning()).toBeDefined()
    world.pass(1)
    expect(warning()).toBeUndefined()
  })

  test('is made anew where the hub refused it for that', async () => {
    const before = node.aid
    wasAhead()
    let asked = 0
    hub.answers({
      checkAdmission: async () => {
        if (asked++ === 0) throw refusedWith('kel_ts_out_of_window')
        return 'admitted'
      },
    })
    await check()
    expect([node.aid === before, asked]).toEqual([false, 2])
  })

  test('spends no invitation on the identity that it gives up', async () => {
    wasAhead()
    const spent: string[] = []
    /** A hub of wire 1 registers whom it is asked about, and spends the code on it. */
    class Spending extends ScriptedHub {
      override checkAdmission(log: Parameters<ScriptedHub['checkAdmission']>[0], invite?: string) {
        if (invite !== undefined) spent.push(log.aid)
        return super.checkAdmission(log)
      }
    }
    const spending = new Spending(world.post, node.aid, () => world.clock.ms)
    await new Admission(node.ctx, node.ctx).check(spending, 'CODE')
    expect(spent).toEqual([node.aid])
  })

  test('is known by the time that the hub told, where the clock of the machine is still ahead', async () => {
    const before = node.aid
    hub.knownTimeMs = world.clock.ms - DAY_MS
    await check()
    expect(node.aid).not.toBe(before)
    expect(node.ctx.identity.log.ts).toBe(hub.knownTimeMs)
  })

  test.each([
    [
      'was registered once',
      () => {
        writeHome(node.ctx.store, presented(hub), false, 0)
        noteRegistered(node.ctx.store, hub.url, 0)
      },
    ],
    ['has signed records', () => void node.within(() => node.ctx.chain.append('svc.test', {}))],
    ['has messages', () => void node.delegate(other)],
  ])('has to wait where it %s', async (_, happens) => {
    const before = node.aid
    happens()
    wasAhead()
    await expect(check()).rejects.toThrow(/dated 24 hours ahead of the hub/)
    expect(node.aid).toBe(before)
  })

  test('of a machine whose clock is far from that of the hub waits for the clocks', async () => {
    const before = node.aid
    wasAhead()
    hub.answers({ checkAdmission: () => Promise.reject(new ClocksApart('a day apart')) })
    await expect(check()).rejects.toThrow('a day apart')
    expect(node.aid).toBe(before)
  })
})

test('an identity that is dated right stays, whatever a hub says', async () => {
  const before = node.aid
  await check()
  expect(hub.calls).toEqual(['checkAdmission'])
  hub.answers({ checkAdmission: () => Promise.reject(refusedWith('admission_required')) })
  await expect(check()).rejects.toMatchObject({ code: 'admission_required' })
  expect(node.aid).toBe(before)
  world.pass(HOUR_MS)
  hub.answers({})
  await check()
  expect(node.aid).toBe(before)
})
