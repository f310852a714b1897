/** Two nodes at a hub of wire 1, which reads their mail: from joining to the receipt that both signed. */

import { randomBytes } from 'node:crypto'
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { acceptCopy } from '../../daemon/chain/accept.ts'
import type { Node } from '../../daemon/node.ts'
import { delegated, finished, type Lab, never, openLab, stateOf, texts, thread, until } from './world.ts'

let lab: Lab
let alice: Node
let bob: Node
beforeAll(async () => {
  lab = await openLab({}, { wires: [1] })
  alice = await lab.member('alice')
  bob = await lab.member('bob')
  await bob.handlers.contactAdd({ aid: alice.aid, petname: 'alice' }, never)
})
afterAll(() => lab.close())

const say = (node: Node, interaction_id: string, text: string) =>
  node.handlers.message({ interaction_id, text }, never)
const files = async (node: Node, id: string) =>
  (await thread(node, id).catch(() => undefined))?.turns.flatMap(({ attachments }) => attachments) ?? []
/** A letter that is too large is told by the sizes alone, so nothing reads what is gone. */
function removeStored(node: Node, bytes: number): void {
  const { folder } = node.ctx.attachments
  for (const name of readdirSync(folder))
    if (statSync(join(folder, name)).size === bytes) rmSync(join(folder, name))
}
const status = (node: Node) => node.handlers.status(undefined, never)

describe('joining', () => {
  test('is refused where nobody has said that the hub may read the mail', async () => {
    const carol = await lab.start('carol')
    await expect(carol.handlers.hubRegister({ url: lab.line.url }, never)).rejects.toMatchObject({
      code: 'hub_unsealed',
      next: expect.stringContaining('--wire 1'),
    })
    await expect(carol.handlers.hubRegister({ url: lab.line.url, wire: 3 }, never)).rejects.toMatchObject({
      code: 'hub_incompatible',
      next: 'the same command without --wire',
    })
    expect(carol.ctx.identity.log.seq).toBe(0)
  })

  test('is refused to whom the operator did not let in, before anything is rotated', async () => {
    const dave = await lab.start('dave')
    const joining = dave.handlers.hubRegister({ url: lab.line.url, wire: 1 }, never)
    await expect(joining).rejects.toMatchObject({
      code: 'hub_refused',
      next: expect.stringMatching(new RegExp(`svc-hub admit ${dave.aid}[^]* --wire 1 --token CODE$`)),
    })
    expect(dave.ctx.identity.log.seq).toBe(0)
  })

  test('with a code of the operator lets in one', async () => {
    const [erin, frank] = [await lab.start('erin'), await lab.start('frank')]
    const made = await lab.hub.running.order({ command: 'invites', make: { days: 1 } })
    const token = String(made['code'])
    const join = (node: Node) => node.handlers.hubRegister({ url: lab.line.url, wire: 1, token }, never)
    expect(await join(erin)).toMatchObject({ status: 'registered', wire: 1, sealed: false })
    await expect(join(frank)).rejects.toMatchObject({
      code: 'hub_refused',
      message: expect.stringContaining('the code did not let'),
    })
    const unnamed = frank.handlers.hubRegister({ url: lab.line.url, token }, never)
    await expect(unnamed).rejects.toMatchObject({
      next: expect.stringContaining(`--token ${token} --wire 1`),
    })
  })

  test.each([0, 7])(
    'lets in %i messages of a visitor, as its person said, from the first on',
    async quota => {
      const node = await lab.start(`guests-${quota}`)
      await lab.hub.running.order({ command: 'admit', aid: node.aid })
      const shown = async () => {
        const answer = await fetch(`${lab.hub.url}/agents/${node.aid}`)
        return ((await answer.json()) as { agent: { guest_quota: number } }).agent.guest_quota
      }
      await node.handlers.hubRegister({ url: lab.line.url, wire: 1, guest_messages: quota }, never)
      expect(await shown()).toBe(quota)
      await node.handlers.idRotate({}, never)
      expect(await shown()).toBe(quota)
    },
  )

  test('takes the text about prices along, also a changed one, and is not held up by one that is too long', async () => {
    const node = await lab.member('paul')
    const shown = async () => {
      const { number } = (await agents.findRegistered(node.aid))?.row ?? {}
      return (await store.openMailbox(number ?? 0))?.pricing
    }
    const { agents, context } = lab.hub.running.hub
    const { store } = context
    const set = async (pricing: string) => await node.handlers.profileSet({ pricing }, never)
    expect([(await set('5 a page')).note, await shown()]).toEqual([undefined, '5 a page'])
    expect((await set('5'.repeat(1025))).note).toContain('the hub takes at most 1024 bytes about prices')
    expect(await shown()).toBe('')
    await node.handlers.hubRegister({ url: lab.line.url, wire: 1, name: 'paula' }, never)
    expect([(await set('6 a page')).note, await shown()]).toEqual([undefined, '6 a page'])
  })

  test('says that nothing is sealed, and again changes nothing', async () => {
    expect((await status(alice)).hub).toMatchObject({ wire: 1, sealed: false, state: 'online' })
    const before = alice.ctx.identity.log.seq
    const again = await alice.handlers.hubRegister({ url: lab.line.url }, never)
    expect(again).toMatchObject({ status: 'registered', wire: 1, sealed: false })
    expect(alice.ctx.identity.log.seq).toBe(before)
    expect(alice.ctx.identity.log.home).toBe(lab.hub.aid)
  })
})

describe('a task', () => {
  test('goes from delegation through answer and end to a receipt that both signed', async () => {
    const id = await delegated(alice, bob, 'count to three')
    await say(bob, id, 'one two three')
    await until('alice reads it', async () => (await texts(alice, id)).includes('one two three'))
    await finished(alice, bob, id)
    for (const node of [alice, bob]) {
      expect(await node.handlers.verify({ interaction_id: id }, never)).toMatchObject({
        verdict: 'valid',
        counter_signed: true,
      })
      expect((await thread(node, id)).sealed).toBe(false)
    }
  })

  test('takes its files along', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'svc-open-')), 'report.txt')
    // more than sealed mail takes of a stranger, and than goes directly
    writeFileSync(file, 'lines\n'.repeat(1_000_000))
    const given = { to: bob.aid, task: 'read this', attach: [file] }
    const { interaction_id: id } = await alice.handlers.delegate(given, never)
    await until('it came', async () => (await files(bob, id)).length > 0)
    // in one letter: whoever answers the task has its files
    expect((await thread(bob, id)).turns).toHaveLength(1)
    const out = join(lab.folder, 'out')
    await bob.handlers.pull({ interaction_id: id, out }, never)
    expect(readFileSync(join(out, 'report.txt'), 'utf8')).toBe('lines\n'.repeat(1_000_000))
  })

  test('goes on where a file is larger than a letter may be, and its sender is told', async () => {
    const id = await delegated(alice, bob, 'read what comes')
    const file = join(mkdtempSync(join(tmpdir(), 'svc-open-')), 'large.bin')
    const bytes = 40 * 1024 * 1024 + 1
    writeFileSync(file, Buffer.alloc(bytes))
    await lab.line.down()
    const given = { interaction_id: id, text: 'all of this', attach: [file] }
    await alice.handlers.message(given, never)
    removeStored(alice, bytes)
    await lab.line.up()
    const delivery = async () => (await thread(alice, id)).turns.at(-1)?.delivery
    await until('it has failed', async () => (await delivery())?.state === 'failed')
    expect(await delivery()).toMatchObject({
      reason: 'a message has 40 MiB with its files at most at this hub; send less at once',
    })
    await until('bob reads the words', async () => (await texts(bob, id)).includes('all of this'))
    expect(await files(bob, id)).toEqual([])
    await finished(alice, bob, id)
  })

  test('that is larger than strangers may send is given with a warning', async () => {
    const hella = await lab.member('hella')
    const file = join(mkdtempSync(join(tmpdir(), 'svc-open-')), 'large.bin')
    writeFileSync(file, Buffer.alloc(9 * 1024 * 1024))
    const given = { to: bob.aid, text: 'read this', attach: [file] }
    const { warning } = await hella.handlers.delegate(given, never)
    expect(warning).toContain('it takes 8 MiB at most')
    const nobody = await hella.handlers.delegate({ to: `A${'b'.repeat(43)}`, task: 'who are you?' }, never)
    expect(nobody.warning).toContain('hands the task on if one of its peers takes it')
    await until('bob counts it', async () => ((await status(bob)).counts?.strangers_refused ?? 0) > 0)
  })

  test('is delivered, as its sender knows, once an answer says what was stored', async () => {
    const id = await delegated(alice, bob, 'answer me')
    const delivery = async () => (await thread(alice, id)).turns[0]?.delivery?.state
    await until('it is at the hub', async () => (await delivery()) === 'at_hub')
    await say(bob, id, 'here')
    await until('its delivery is known', async () => (await delivery()) === 'delivered')
  })

  test.each([
    ['ended', 'failed', 'the recipient had not taken it when the task ended'],
    ['declined', 'unknown', 'the recipient declined the task before it said whether it has this'],
  ] as const)('of a stranger that was %s says what was not taken of it', async (way, state, reason) => {
    const [gail, hans] = [await lab.member(`gail-${way}`), await lab.member(`hans-${way}`)]
    hans.ctx.settings.change({ guest_messages: 2 })
    const id = await delegated(gail, hans, 'may I?')
    for (const text of ['one', 'two', 'three']) await say(gail, id, text)
    const refused = async () => (await status(hans)).counts?.strangers_refused ?? 0
    await until('hans refused some', async () => (await refused()) >= 2)
    if (way === 'ended') {
      await hans.handlers.approve({ interaction_id: id }, never)
      await finished(gail, hans, id)
    } else await hans.handlers.decline({ interaction_id: id }, never)
    const told = async () => (await thread(gail, id)).turns.map(({ delivery }) => delivery)
    await until('nothing is said to wait', async () => (await told()).every(one => one?.state !== 'at_hub'))
    expect((await told()).slice(0, 2)).toMatchObject([{ state: 'delivered' }, { state: 'delivered' }])
    for (const delivery of (await told()).slice(2, 4)) expect(delivery).toMatchObject({ state, reason })
  })

  test('goes on under a new key of either side', async () => {
    const id = await delegated(alice, bob, 'over a rotation')
    await alice.handlers.idRotate({}, never)
    await bob.handlers.idRotate({}, never)
    await say(bob, id, 'under the new key')
    await until('alice reads it', async () => (await texts(alice, id)).includes('under the new key'))
    await say(alice, id, 'thank you')
    await until('bob reads it', async () => (await texts(bob, id)).includes('thank you'))
  })

  test('waits while the hub is away, and goes then', async () => {
    await lab.line.down()
    const { interaction_id: id } = await alice.handlers.delegate({ to: bob.aid, task: 'later' }, never)
    await lab.line.up()
    await until('it came', async () => (await stateOf(bob, id).catch(() => undefined)) !== undefined)
  })
})

test('a directory that was moved to another place is taken for no second copy', async () => {
  const gone = await lab.member('gina')
  await gone.stop()
  renameSync(join(lab.folder, 'gina'), join(lab.folder, 'gina-2'))
  const moved = await lab.start('gina-2')
  await until('it is settled', () => moved.ctx.hub.unsettled === undefined)
  expect(moved.ctx.hub.oldCopy).toBeUndefined()
  const id = await delegated(moved, bob, 'from a new place')
  expect(await stateOf(bob, id)).toBeDefined()
})

describe('a review', () => {
  const review = (id: string, more: object = {}) =>
    alice.handlers.review({ interaction_id: id, rating: 4, comment: 'quick', ...more }, never)
  const shown = async () => {
    const answer = await fetch(`${lab.hub.url}/agents/${bob.aid}`)
    return ((await answer.json()) as { reviews: Record<string, unknown>[] }).reviews
  }

  test('waits until its person lets the hub publish the task, and is there then with both documents', async () => {
    const id = await delegated(alice, bob, 'count to four')
    await say(bob, id, 'one two three four')
    await until('alice reads it', async () => (await texts(alice, id)).includes('one two three four'))
    await finished(alice, bob, id)
    const kept = await review(id)
    expect(kept).toMatchObject({ uploaded: false, reason: expect.stringContaining('--publish') })
    expect(kept.next_try_at).toBeUndefined()
    expect(await shown()).toEqual([])
    expect(await review(id, { publish: true })).toMatchObject({ uploaded: true, review_cid: kept.review_cid })
    expect(await shown()).toMatchObject([{ interaction_id: id, rating: 4, goal: 'count to four' }])
  })

  test('whose answer was lost is not given twice, also under a new key', async () => {
    const id = await delegated(alice, bob, 'count to five')
    await say(bob, id, 'five')
    await until('alice reads it', async () => (await texts(alice, id)).includes('five'))
    await finished(alice, bob, id)
    const { openReviews } = alice.ctx.hub.home as NonNullable<typeof alice.ctx.hub.home>
    const give = openReviews?.give.bind(openReviews) as NonNullable<typeof openReviews>['give']
    Object.assign(openReviews as object, {
      give: async (upload: Parameters<typeof give>[0]) => {
        await give(upload)
        await give(upload)
      },
    })
    await alice.handlers.idRotate({}, never)
    expect(await review(id, { publish: true })).toMatchObject({ uploaded: true })
    expect((await shown()).filter(({ interaction_id }) => interaction_id === id)).toHaveLength(1)
    Object.assign(openReviews as object, { give })
  })
})

describe('moving on to sealed mail at a hub of both wires', () => {
  let both: Lab
  let url: string
  let [carol, dave]: Node[] = []
  beforeAll(async () => {
    both = await openLab(
      {},
      { wires: [3], wire1: { listen: { host: '127.0.0.1', port: 0 }, baseUrl: undefined } },
    )
    url = String(both.hub.running.wire1?.url)
    const join = async (name: string) => {
      const node = await both.start(name)
      await both.hub.running.order({ command: 'admit', aid: node.aid })
      await node.handlers.hubRegister({ url, name, wire: 1 }, never)
      return node
    }
    ;[carol, dave] = [await join('carol'), await join('dave')]
    await dave.handlers.contactAdd({ aid: carol.aid, petname: 'carol' }, never)
  })
  afterAll(() => both.close())

  test('loses nothing that was on its way, and a task goes on once both are there', async () => {
    const [one, two] = [carol as Node, dave as Node]
    const id = await delegated(one, two, 'before the move')
    await two.stop()
    await say(one, id, 'while you move')
    await until(
      'it is at the hub',
      async () => (await thread(one, id)).turns[1]?.delivery?.state === 'at_hub',
    )
    const again = await both.start('dave')
    await again.handlers.hubRegister({ url: both.line.url }, never)
    expect((await status(again)).hub).toMatchObject({ wire: 3, sealed: true })
    await until('it came', async () => (await texts(again, id)).includes('while you move'))
    await expect(again.handlers.hubRegister({ url, wire: 1 }, never)).rejects.toMatchObject({
      code: 'hub_incompatible',
      message: expect.stringContaining('never goes back to wire 1'),
    })
    await say(again, id, 'from sealed mail')
    await one.handlers.hubRegister({ url: both.line.url }, never)
    await until('and there', async () => (await texts(one, id)).includes('from sealed mail'))
    await finished(one, again, id)
  })
})

test('the agents of the hub are found', async () => {
  const { agents } = await alice.handlers.find({ limit: 50 }, never)
  expect(agents.map(({ aid }) => aid)).toEqual(expect.arrayContaining([alice.aid, bob.aid]))
})

describe('a second copy of an identity', () => {
  const copied = async (name: string): Promise<string> => {
    const first = await lab.member(name)
    await delegated(first, bob, 'before the copy')
    await first.stop()
    const [from, to] = [join(lab.folder, name), join(lab.folder, `${name}-copy`)]
    cpSync(from, to, { recursive: true })
    rmSync(join(to, 'lock'), { recursive: true, force: true })
    return `${name}-copy`
  }
  const isDecided = ({ ctx: { hub } }: Node) => hub.oldCopy !== undefined || hub.unsettled === undefined

  test('signs nothing while the first one runs, and that one goes on', async () => {
    const copy = await copied('grace')
    const first = await lab.start('grace')
    const second = await lab.start(copy)
    await until('it knows what it is', () => isDecided(second))
    expect((await status(second)).old_copy).toBe(true)
    expect((await status(first)).old_copy).toBe(false)
    const given = { to: bob.aid, task: 'anything' }
    await expect(second.handlers.delegate(given, never)).rejects.toMatchObject({ code: 'old_copy' })
    const id = await delegated(first, bob, 'from the first one')
    expect((await thread(bob, id)).turns).toHaveLength(1)
  })

  test('goes on where the first one is not there', async () => {
    const second = await lab.start(await copied('heidi'))
    await until('it knows what it is', () => isDecided(second))
    expect((await status(second)).old_copy).toBe(false)
    await delegated(second, bob, 'from where it was moved')
    expect(
      second.ctx.store.get("SELECT 1 FROM counters WHERE name = 'malformed' AND value > 0"),
    ).toBeUndefined()
  })

  test('goes on after its person accepted it, because the first one is lost', async () => {
    const name = await copied('ivan')
    const dir = join(lab.folder, name)
    const OUTSIDE = { now: Date.now, random: (n: number) => new Uint8Array(randomBytes(n)) }
    acceptCopy(dir, { SVC_RUNTIME_DIR: join(lab.folder, `run-${name}`) }, OUTSIDE)
    const second = await lab.start(name)
    await until('its hub was asked', () => second.ctx.hub.unasked === undefined)
    await delegated(second, bob, 'from the accepted copy')
    expect((await status(second)).hub?.state).toBe('online')
  })
})
