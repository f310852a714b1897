/** Whether this is the newest copy of its identity: what is asked before anything is signed, and how long that is waited for. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { noteTwin } from '../chain/place.ts'
import { hubRow, noteRegistered } from '../store/hubs.ts'
import { keepLasting, lasting } from '../store/lasting.ts'
import type { TestNode } from '../testing/node.ts'
import { refusedWith } from '../testing/scripted-hub.ts'
import type { Membership } from './membership.ts'
import { HubsWorld } from './testing.ts'

let world: HubsWorld
let node: TestNode
let membership: Membership
const { signal } = new AbortController()

beforeEach(async () => {
  world = new HubsWorld()
  node = await world.member()
  ;({ membership } = world.opened)
})
afterEach(() => world[Symbol.asyncDispose]())

const hub = () => node.ctx.hub
const silent = () => node.hub.answers({ refresh: () => Promise.reject(new Error('down')) })
const hangs = () => node.hub.answers({ refresh: () => new Promise(() => {}) })
const begun = async (waitMs = 3000) => {
  let isOver = false
  membership.open()
  const beginning = membership.begin().then(() => {
    isOver = true
  })
  await world.wait(waitMs)
  return { isOver, beginning }
}
/** Whether a promise is settled without a further pause. */
const isDone = async (work: Promise<unknown>) => {
  let isOver = false
  void work.then(() => {
    isOver = true
  })
  await world.wait(0)
  return isOver
}

describe('a start', () => {
  test('asks the hub before anything is signed, and goes on once it has answered', async () => {
    const { isOver } = await begun(0)
    expect([isOver, hub().unasked, hub().isCompared, hub().comparing]).toEqual([
      true,
      undefined,
      true,
      undefined,
    ])
    expect(node.hub.calls.slice(0, 2)).toEqual(['refresh', 'fetchAgent'])
  })

  test('waits three seconds for a hub that hangs, and nothing leaves until it answers', async () => {
    hangs()
    expect((await begun(2999)).isOver).toBe(false)
    expect(hub().comparing).toBeInstanceOf(Promise)
    await world.wait(1)
    expect(hub().comparing).toBeUndefined()
    expect(hub().unasked).toMatch(/nothing leaves this machine/)
    expect(hub().unsettled).toBeUndefined()
  })

  test('says why the hub was not asked, and that it keeps this identity out', async () => {
    silent()
    await begun(0)
    expect(hub().state).toEqual({ state: 'offline', reason: 'down' })
    node.hub.answers({ refresh: () => Promise.reject(refusedWith('admission_required')) })
    await begun(0)
    expect(hub().state).toMatchObject({ keptOut: true })
  })

  test('asks nobody where the copy is known to be old, and talks to the hub no more', async () => {
    hub().oldCopy = 'it is an old copy'
    await begun(0)
    expect([node.hub.calls, node.hub.stopped]).toEqual([[], 'it is an old copy'])
  })

  test('of a directory that came from an archive waits for its own question', async () => {
    hub().unsettled = 'it came from an archive'
    hangs()
    await begun()
    expect(hub().unasked).toBeUndefined()
    expect(hub().unsettled).toBe('it came from an archive')
  })

  test('where a copy was seen that may have taken over signs nothing before the hub has answered', async () => {
    noteTwin(node.ctx.store, world.clock.ms)
    hangs()
    await begun()
    expect(hub().unsettled).toMatch(/may have taken over since/)
    expect(hub().unasked).toBe(hub().unsettled)
    node.hub.answers({})
    await membership.keepInSync(signal)
    expect([hub().unsettled, hub().unasked]).toEqual([undefined, undefined])
  })

  test('follows up on what a crash interrupted, but not where nothing may be signed', async () => {
    keepLasting(node.ctx.store, { mailboxDue: 1 })
    hub().unsettled = 'it came from an archive'
    hangs()
    await begun()
    expect(lasting(node.ctx.store, 'mailboxDue')).toBe(1)
    hub().unsettled = undefined
    hub().oldCopy = 'it is an old copy'
    await begun()
    expect(lasting(node.ctx.store, 'mailboxDue')).toBe(1)
    hub().oldCopy = undefined
    node.hub.answers({})
    await begun()
    expect(lasting(node.ctx.store, 'mailboxDue')).toBe(0)
  })
})

describe('the question of the start', () => {
  test('is asked again, after pauses of up to eight seconds, until the hub has answered', async () => {
    silent()
    Object.assign(node.ctx.timings, { backoffFirstMs: 1000 })
    await begun(0)
    const asked = () => node.hub.calls.filter(call => call === 'refresh').length
    const answered = membership.asked(signal)
    const counts = []
    for (const ms of [999, 1, 2000, 4000, 8000, 8000]) {
      await world.wait(ms)
      counts.push(asked())
    }
    expect(counts).toEqual([1, 2, 3, 4, 5, 6])
    expect(await isDone(answered)).toBe(false)
    node.hub.answers({})
    await world.wait(8000)
    expect(await isDone(answered)).toBe(true)
    expect(hub().unasked).toBeUndefined()
  })

  test.each([
    ['the copy is old', () => Object.assign(hub(), { oldCopy: 'it is an old copy' })],
    ['this node does not talk to the hub', () => node.hub.halt('it speaks another wire')],
  ])('ends where %s', async (_, happens) => {
    silent()
    await begun(0)
    happens()
    expect(await isDone(membership.asked(signal))).toBe(true)
    expect(hub().unasked).toBeDefined()
  })

  test('ends with its caller', async () => {
    silent()
    await begun(0)
    const stop = new AbortController()
    const asked = membership.asked(stop.signal)
    await world.wait(0)
    const before = node.hub.calls.length
    stop.abort()
    expect(await isDone(asked)).toBe(true)
    expect(node.hub.calls).toHaveLength(before)
  })

  test('is over once another hub is home', async () => {
    silent()
    await begun(0)
    const asked = membership.asked(signal)
    await membership.join(world.hub('http://other.test').url, signal)
    expect(await isDone(asked)).toBe(true)
  })

  test('wakes what waited for the answer', async () => {
    silent()
    await begun(0)
    const woken: string[] = []
    for (const name of ['payments', 'spending', 'audits'] as const) {
      node.ctx.wakers[name].forget()
      void node.ctx.wakers[name].sleep(1e9).then(() => woken.push(name))
    }
    node.hub.answers({})
    await membership.keepInSync(signal)
    await world.wait(0)
    expect(woken).toEqual(['payments', 'spending', 'audits'])
    void node.ctx.wakers.payments.sleep(1e9).then(() => woken.push('again'))
    await membership.keepInSync(signal)
    await world.wait(0)
    expect(woken).toHaveLength(3)
  })
})

describe('a key set that shows other copies that this one took over', () => {
  const due = () => lasting(node.ctx.store, 'keySetDue')
  const setSeq = () => node.ctx.keys.set?.body.setSeq ?? 0

  test('is raised and published at a hub that knows this node, before anything else', async () => {
    await membership.keepInSync(signal)
    const before = setSeq()
    keepLasting(node.ctx.store, { keySetDue: 'raise' })
    await membership.keepInSync(signal)
    expect(setSeq()).toBe(before + 1)
    expect([due(), node.ctx.keys.isConfirmed]).toEqual([undefined, true])
  })

  test('is raised once, and published again where that failed', async () => {
    await membership.keepInSync(signal)
    const before = setSeq()
    keepLasting(node.ctx.store, { keySetDue: 'raise' })
    node.hub.answers({ publishKeys: () => Promise.reject(new Error('down')) })
    expect(await membership.keepInSync(signal)).toBe(false)
    expect([setSeq(), due()]).toEqual([before + 1, 'publish'])
    node.hub.answers({})
    await membership.keepInSync(signal)
    expect([setSeq(), due()]).toEqual([before + 1, undefined])
  })

  test('goes with the next round where the hub refused it', async () => {
    await membership.keepInSync(signal)
    keepLasting(node.ctx.store, { keySetDue: 'raise' })
    let refusals = 0
    node.hub.answers({
      publishKeys: async () => {
        if (refusals++ === 0) throw refusedWith('rate_limited')
      },
    })
    expect(await membership.keepInSync(signal)).toBe(true)
    expect([due(), node.ctx.keys.isConfirmed]).toEqual([undefined, true])
  })

  test('is shown by a copy that waited for that answer alone', async () => {
    await membership.keepInSync(signal)
    const before = setSeq()
    keepLasting(node.ctx.store, { keySetDue: 'raise' })
    Object.assign(hub(), { unsettled: 'a copy was seen', unasked: 'a copy was seen' })
    await membership.keepInSync(signal)
    expect([setSeq(), due(), hub().unsettled]).toEqual([before + 1, undefined, undefined])
  })

  test('waits where the directory has still to look for its original', async () => {
    await membership.keepInSync(signal)
    const before = setSeq()
    keepLasting(node.ctx.store, { keySetDue: 'raise' })
    hub().unsettled = 'it came from an archive'
    await membership.keepInSync(signal)
    expect([setSeq(), due()]).toEqual([before, 'raise'])
  })

  test('goes with the registration where the hub does not know this node yet', async () => {
    keepLasting(node.ctx.store, { keySetDue: 'raise' })
    await membership.keepInSync(signal)
    expect(node.hub.calls).not.toContain('publishKeys')
    expect([due(), node.ctx.keys.isConfirmed]).toEqual([undefined, true])
    expect(hubRow(node.ctx.store, node.hub.url)?.registeredSeq).toBe(node.ctx.identity.log.seq)
  })
})

describe('a directory from an archive', () => {
  const mail = (watched: 'alone' | 'came_second' = 'alone') => {
    const taken: string[] = []
    const watch = async () => {
      taken.push('watch')
      return watched
    }
    return { taken, watch, drain: async () => void taken.push('drain') }
  }
  beforeEach(() => {
    hub().unsettled = 'it came from an archive'
    noteRegistered(node.ctx.store, node.hub.url, node.ctx.identity.log.seq)
  })

  test('looks for its original, takes its mail, and goes above every key set', async () => {
    const before = node.ctx.keys.set?.body.setSeq ?? 0
    const waiting = mail()
    await membership.settle(waiting, signal)
    expect(waiting.taken).toEqual(['watch', 'drain'])
    expect([hub().unsettled, node.ctx.keys.set?.body.setSeq]).toEqual([undefined, before + 1])
  })

  test('that came second stops, and takes no mail', async () => {
    const waiting = mail('came_second')
    await membership.settle(waiting, signal)
    expect([waiting.taken, node.hub.stopped]).toEqual([['watch'], expect.stringMatching(/already runs/)])
    expect(hub().oldCopy).toBe(node.hub.stopped)
  })

  test('asks until the hub answers, at its pace, or until its caller is gone', async () => {
    silent()
    Object.assign(node.ctx.timings, { settleMs: 500 })
    const stop = new AbortController()
    const waiting = mail()
    const settling = membership.settle(waiting, stop.signal)
    await world.wait(1499)
    expect(node.hub.calls.filter(call => call === 'refresh')).toHaveLength(3)
    stop.abort()
    expect(await isDone(settling)).toBe(true)
    expect(hub().unsettled).toBe('it came from an archive')
    node.hub.answers({})
    await membership.settle(waiting, signal)
    expect(waiting.taken).toEqual(['watch', 'drain'])
  })

  test('without a hub, or at one that keeps it out, has no mail and goes on', async () => {
    const refused = { watch: () => Promise.reject(refusedWith('admission_required')), drain: async () => 0 }
    await membership.settle(refused, signal)
    expect(hub().unsettled).toBeUndefined()
    hub().unsettled = 'it came from an archive'
    node.ctx.hub.leave()
    const waiting = mail()
    await membership.settle(waiting, signal)
    expect([waiting.taken, hub().unsettled]).toEqual([[], undefined])
  })

  test('that is an old copy of what another hub holds asks no mail', async () => {
    hub().oldCopy = 'it is an old copy'
    const waiting = mail()
    await membership.settle(waiting, signal)
    expect([waiting.taken, node.hub.calls]).toEqual([[], []])
  })
})
