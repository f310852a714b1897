/** Two copies of one identity: in whatever order they start and stop, no record is signed twice and one goes on. */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { foundIn } from '../../daemon/carrier/lookup.ts'
import { acceptCopy } from '../../daemon/chain/accept.ts'
import type { Node } from '../../daemon/node.ts'
import { systemRandom } from '../../daemon/platform/random.ts'
import { delegated, finished, type Lab, never, openPair, until } from './world.ts'

let lab: Lab
let bob: Node
let made = 0

beforeAll(async () => {
  ;({ lab, bob } = await openPair())
})
afterAll(() => lab.close())

const OUTSIDE = { now: Date.now, random: systemRandom }
const dirOf = (name: string) => join(lab.folder, name)
const status = (node: Node) => node.handlers.status(undefined, never)
const isDecided = (node: Node) =>
  node.ctx.hub.oldCopy !== undefined || (node.ctx.hub.unsettled === undefined && node.ctx.hub.isCompared)
const ids = (node: Node) =>
  node.ctx.store
    .all<{ seq: number; id: Uint8Array }>('SELECT seq, id FROM chain ORDER BY seq')
    .map(({ seq, id }) => `${seq} ${Buffer.from(id).toString('hex')}`)
const served = async (node: Node) => foundIn(await bob.ctx.carriers.find(node.aid))?.keys?.body.setSeq

/** An original with a task behind it, and its copy as a second machine gets it. */
async function original(seenByBob: boolean): Promise<[string, string]> {
  const name = `original-${made}`
  const copy = `copy-${made++}`
  const first = await lab.member(name)
  await bob.handlers.contactAdd({ aid: first.aid, petname: name }, never)
  await first.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
  await delegated(first, bob, 'before the copy')
  await first.stop()
  cpSync(dirOf(name), dirOf(copy), { recursive: true })
  rmSync(join(dirOf(copy), 'lock'), { recursive: true, force: true })
  const again = await lab.start(name)
  const later = await delegated(again, bob, 'after the copy')
  if (seenByBob) await finished(again, bob, later)
  return [name, copy]
}

/** The first of the two and its copy, where they are up. */
class Two {
  readonly names: readonly [string, string]
  readonly up: [Node | undefined, Node | undefined]

  constructor(names: readonly [string, string], first: Node) {
    this.names = names
    this.up = [first, undefined]
  }

  async start(which: 0 | 1): Promise<void> {
    if (this.up[which] !== undefined) return
    const node = await lab.start(this.names[which] as string)
    this.up[which] = node
    await until('it knows whether it is the newest', () => isDecided(node))
  }

  async stop(which: 0 | 1): Promise<void> {
    await this.up[which]?.stop()
    this.up[which] = undefined
  }

  /** One start or stop; then the first signs where it is up, the second never, and nothing is signed twice. */
  async take(step: string): Promise<void> {
    const which = step.endsWith('0') ? 0 : 1
    await (step.startsWith('start') ? this.start(which) : this.stop(which))
    const [one, other] = this.up
    expect(await this.sign()).toEqual([...(one ? [true] : []), ...(other ? [false] : [])])
    if (one === undefined || other === undefined) return
    const own = new Set(ids(one))
    expect(ids(other).filter(id => !own.has(id))).toEqual([])
  }

  /** Who of those that are up can sign. */
  async sign(): Promise<boolean[]> {
    const results: boolean[] = []
    for (const node of this.up) {
      if (node === undefined) continue
      const tried = node.handlers.delegate({ to: bob.aid, task: 'anything' }, never)
      results.push(
        await tried.then(
          () => true,
          error => (error.code === 'old_copy' ? false : Promise.reject(error)),
        ),
      )
    }
    return results
  }
}

describe('two copies of one identity', () => {
  test.each([true, false])(
    'while the first runs, the second publishes and signs nothing, also after a restart (seen by a correspondent: %s)',
    async seenByBob => {
      const [name, copy] = await original(seenByBob)
      const first = [...lab.nodes].findLast(node => node.ctx.dir === dirOf(name)) as Node
      // longer than a poll has to be held in peace
      await new Promise(done => setTimeout(done, 1500))
      const before = await served(first)
      const two = new Two([name, copy], first)
      await two.start(1)
      const second = two.up[1] as Node
      const length = second.ctx.chain.length
      expect((await status(second)).old_copy).toBe(true)
      expect((await status(second)).warnings.join()).toMatch(
        seenByBob
          ? /old copy|already runs/
          : new RegExp(`already runs elsewhere .*${name} on .* this copy at .*${copy} on `),
      )
      expect(await two.sign()).toEqual([true, false])
      await two.stop(1)
      await two.start(1)
      expect(await two.sign()).toEqual([true, false])
      await two.stop(0)
      await two.stop(1)
      // also when the first one is away
      await two.start(1)
      expect(await two.sign()).toEqual([false])
      expect(two.up[1]?.ctx.chain.length).toBe(length)
      expect(await served(first)).toBe(before)
      await two.start(0)
      expect(await two.sign()).toEqual([true, false])
      expect((await status(two.up[0] as Node)).warnings.join()).toMatch(
        /a copy of this node was started on another machine/,
      )
      for (const which of [0, 1] as const) await two.stop(which)
    },
    60_000,
  )

  test('a first one that had no moment of peace yet goes on, and the second one stops', async () => {
    const [name, copy] = await original(false)
    const first = [...lab.nodes].findLast(node => node.ctx.dir === dirOf(name)) as Node
    await first.stop()
    const two = new Two([name, copy], await lab.start(name))
    const mail = setInterval(
      () => void bob.handlers.delegate({ to: first.aid, task: 'more' }, never).catch(() => undefined),
      300,
    )
    await new Promise(done => setTimeout(done, 1000))
    const starting = two.start(1)
    await new Promise(done => setTimeout(done, 200))
    clearInterval(mail)
    await starting
    expect(await two.sign()).toEqual([true, false])
    for (const which of [0, 1] as const) await two.stop(which)
  })

  test('in any order of starts and stops never both sign, and no place of the chain has two records', async () => {
    const steps = fc.array(fc.constantFrom('start 0', 'stop 0', 'start 1', 'stop 1'), {
      minLength: 2,
      maxLength: 5,
    })
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), async (order, seenByBob) => {
        const [name, copy] = await original(seenByBob)
        const first = [...lab.nodes].findLast(node => node.ctx.dir === dirOf(name)) as Node
        await new Promise(done => setTimeout(done, 1200))
        const two = new Two([name, copy], first)
        // the second one is there before the first one ever stops
        await two.start(1)
        for (const step of order) await two.take(step)
        for (const which of [0, 1] as const) await two.stop(which)
      }),
      { numRuns: 6, seed: 33 },
    )
  })
})

describe('a copy that took over, as its owner said', () => {
  const accept = (name: string) =>
    acceptCopy(dirOf(name), { SVC_RUNTIME_DIR: join(lab.folder, `run-${name}`) }, OUTSIDE)
  const said = async (node: Node) => (await status(node)).warnings.join()
  const tasks = async (node: Node) => (await node.handlers.inbox({}, never)).items.map(item => item.preview)

  /** A first one and its copy, which noticed it and then took over; both are stopped. */
  async function takenOver(): Promise<Two> {
    const [name, copy] = await original(false)
    const first = [...lab.nodes].findLast(node => node.ctx.dir === dirOf(name)) as Node
    await new Promise(done => setTimeout(done, 1500))
    const two = new Two([name, copy], first)
    await two.start(1)
    expect((await status(two.up[1] as Node)).old_copy).toBe(true)
    await two.stop(1)
    await two.stop(0)
    accept(copy)
    return two
  }

  test('goes on, and the first one knows at its first look that it is behind: it signs nothing', async () => {
    const two = await takenOver()
    await two.start(1)
    const copy = two.up[1] as Node
    const first = await lab.start(two.names[0])
    two.up[0] = first
    const before = first.ctx.chain.length
    expect(await two.sign()).toEqual([false, true])
    expect((await status(first)).old_copy).toBe(true)
    await until('a poll of the copy was held in peace', () => copy.ctx.hub.state.state === 'online')
    await new Promise(done => setTimeout(done, 1500))
    expect(await two.sign()).toEqual([false, true])
    expect(first.ctx.chain.length).toBe(before)
    expect(await said(first)).toMatch(
      /the hub holds key set \d+ of this identity and this machine \d+: it is an old copy/,
    )
    expect(await said(first)).not.toMatch(/was first|took over|started later/)
    expect(await said(copy)).toMatch(/this node took over at \d{4}-.* by svc evidence accept/)
    expect(await said(copy)).not.toMatch(/was first|started later/)
    for (const which of [0, 1] as const) await two.stop(which)
  })

  test('has not been asked about while the hub is away: a first one that saw it signs nothing until then', async () => {
    const two = await takenOver()
    await two.start(1)
    await two.stop(1)
    await lab.line.down()
    const first = await lab.start(two.names[0])
    two.up[0] = first
    const before = first.ctx.chain.length
    expect(await two.sign()).toEqual([false])
    expect(await status(first)).toMatchObject({ old_copy: false, hub: { state: 'offline' } })
    expect(await said(first)).toMatch(
      /a copy .* may have taken over since; nothing is signed until the hub has answered/,
    )
    await lab.line.up()
    await until('it was asked', () => first.ctx.hub.oldCopy !== undefined)
    expect(await two.sign()).toEqual([false])
    expect(first.ctx.chain.length).toBe(before)
    await two.stop(0)
  })

  test('is not disturbed by what a first one that never saw it wrote while the hub was away: nothing of that leaves', async () => {
    const [name, copy] = await original(false)
    const first = [...lab.nodes].findLast(node => node.ctx.dir === dirOf(name)) as Node
    await first.stop()
    accept(copy)
    const two = new Two([name, copy], await lab.start(copy))
    await two.stop(0)
    await lab.line.down()
    const again = await lab.start(name)
    await again.handlers.delegate({ to: bob.aid, task: 'written behind' }, never)
    expect(await said(again)).toMatch(/until it answers, nothing leaves this machine/)
    await lab.line.up()
    await until('it was asked', () => again.ctx.hub.oldCopy !== undefined)
    await new Promise(done => setTimeout(done, 1000))
    expect(await tasks(bob)).not.toContain('written behind')
    await again.stop()
  })

  test('while the first one still runs ends that one, and goes on', async () => {
    const [name, copy] = await original(false)
    const first = [...lab.nodes].findLast(node => node.ctx.dir === dirOf(name)) as Node
    await new Promise(done => setTimeout(done, 1500))
    accept(copy)
    const two = new Two([name, copy], first)
    await two.start(1)
    await until('the first one gives way', () => first.ctx.hub.oldCopy !== undefined)
    expect(await two.sign()).toEqual([false, true])
    expect(await said(two.up[1] as Node)).toMatch(/this node took over/)
    for (const which of [0, 1] as const) await two.stop(which)
  })
})
