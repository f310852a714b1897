/** The task board as capabilities of a node, at a real hub of wire 1: who may call, what is observed, what is recorded. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkConfig } from '../../daemon/home/config.ts'
import { OrderUnanswered, type TaskBoard } from '../../daemon/hubs/board.ts'
import { HubUnreachable } from '../../daemon/hubs/hub.ts'
import { Publication } from '../../daemon/hubs/publication.ts'
import { runProvider } from '../../daemon/modules/provider.ts'
import { module as taskboard } from '../../daemon/modules/taskboard.ts'
import { startTestHub, type TestHub } from '../../hub/testing/hub.ts'
import { anyAid } from '../../protocol/testing/agents.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { never, type OpenNode, openNode } from './node.ts'

const [CAROL, DAVE, EVE] = fc.sample(anyAid, { numRuns: 3, seed: 1 }) as [string, string, string]

let hub: TestHub
let alice: OpenNode
let bob: OpenNode
beforeAll(async () => {
  hub = await startTestHub({ wires: [1] })
  alice = await openNode(hub)
  bob = await openNode(hub)
})
afterAll(async () => {
  await alice.close()
  await bob.close()
  await hub.close()
})

const providers = (
  { ground }: OpenNode,
  home: object | null | undefined = ground.hub.home,
  settings: object = {},
) => {
  const given = { allow: [CAROL], readers: [DAVE], ...settings }
  const config = checkConfig({ modules: { taskboard: given } }).modules ?? {}
  const at = { home: home ?? undefined } as typeof ground.hub
  return taskboard?.open({ ...ground, config, hub: at, publication: new Publication() }) ?? []
}
type Given = { node?: OpenNode; caller?: string | undefined; home?: object | null }

async function call(name: string, args: Record<string, unknown> = {}, given: Given = {}) {
  const { node = alice, caller } = given
  const provider = providers(node, given.home).find(one => one.capability === `taskboard.${name}`)
  if (provider === undefined) throw new Error(`no taskboard.${name}`)
  const asked = { capability: provider.capability, args, caller, signal: never }
  return await runProvider(provider, asked, { now: Date.now, timers: systemTimers, log: node.ground.log })
}
const seen = ({ evidence }: Awaited<ReturnType<typeof call>>) => JSON.parse(evidence?.observedState ?? 'null')
const records = ({ ground }: OpenNode, type: string) =>
  ground.chain.read({ eventType: type }).map(record => record['payload'])

describe('a card', () => {
  test('goes from draft to done by capabilities, each act read back and recorded before its answer', async () => {
    const created = await call('create', { title: 'count the orders' }, { caller: CAROL })
    expect(created).toMatchObject({
      status: 'OK',
      record: { metrics: { events: 1 } },
      evidence: { verifyTrust: 2, authTrust: 1, protocol: 'taskboard', nativeAck: true },
    })
    const { card_id } = seen(created) as { card_id: string }
    expect(seen(await call('move', { card_id, column: 'ready' }))).toMatchObject({ column: 'ready' })
    await call('claim', { card_id }, { node: bob })
    await call('submit', { card_id, note: '412' }, { node: bob })
    expect(seen(await call('accept', { card_id }))).toMatchObject({ column: 'done', assignee: bob.aid })
    expect(records(alice, 'svc.taskboard.action')).toEqual([
      { caller: CAROL, capability: 'taskboard.create', card_id, column: 'draft', answered: true },
      { caller: '', capability: 'taskboard.move', card_id, column: 'ready', answered: true },
      { caller: '', capability: 'taskboard.accept', card_id, column: 'done', answered: true },
    ])
    expect(records(bob, 'svc.taskboard.action')).toHaveLength(2)
    const shown = await call('show', { card_id }, { caller: DAVE })
    expect(shown).toMatchObject({ status: 'OK', record: { metrics: { events: 5 } } })
    expect((seen(shown) as { events: object[] }).events[3]).toMatchObject({ actor: bob.aid, detail: '412' })
    expect(seen(await call('list', { column: 'done' }, { caller: DAVE }))).toMatchObject([
      { column: 'done', total: 1, cards: [{ card_id, title: 'count the orders' }] },
    ])
    expect(seen(await call('list', { mine: true, limit: 1 }, { node: bob }))).toHaveLength(7)
  })

  test('is refused in words of one line, and nothing is recorded as done', async () => {
    const before = records(bob, 'svc.taskboard.action').length
    const made = await call('create', { title: 'not for bob', column: 'ready' })
    const { card_id } = seen(made) as { card_id: string }
    expect(await call('accept', { card_id }, { node: bob })).toMatchObject({
      status: 'FAILED',
      message: expect.stringContaining('the hub refused: the card is not for you to accept'),
    })
    expect(await call('show', { card_id: 'none' })).toMatchObject({ status: 'FAILED' })
    expect(records(bob, 'svc.taskboard.action')).toHaveLength(before)
  })

  test.each([
    ['create', {}, 'title is missing'],
    ['create', { title: 'a\nb' }, /^title: expected one line/],
    ['create', { title: 'a', column: 'done' }, /^column: expected/],
    ['claim', { card_id: 'x', note: 'n' }, 'unknown member: note'],
    ['move', { card_id: 'x' }, 'column is missing'],
    ['list', { cursor: '1.x' }, /^unexpected argument: cursor/],
  ])('is not asked for by %s %j', async (name, args, message) => {
    expect(await call(name, args)).toMatchObject({
      status: 'FAILED',
      message: expect.stringMatching(message),
    })
  })
})

describe('a caller', () => {
  test('acts where it is allowed, reads where it may read, and is recorded where it is refused', async () => {
    const before = records(alice, 'svc.taskboard.refused').length
    const refused = { status: 'UNAVAILABLE', message: 'this caller is not allowed' }
    expect(await call('create', { title: 'a' }, { caller: DAVE })).toMatchObject(refused)
    expect(await call('list', {}, { caller: EVE })).toMatchObject(refused)
    expect((await call('list', {}, { caller: CAROL })).status).toBe('OK')
    expect(records(alice, 'svc.taskboard.refused').slice(before)).toEqual([
      { caller: DAVE, capability: 'taskboard.create', reason: 'this caller is not allowed' },
      { caller: EVE, capability: 'taskboard.list', reason: 'this caller is not allowed' },
    ])
  })

  test('is told that there is no board, or no hub', async () => {
    expect(await call('list', {}, { home: { board: undefined } })).toMatchObject({
      ...{ status: 'UNAVAILABLE', message: 'the hub of this node has no task board' },
    })
    expect(await call('list', {}, { home: null })).toMatchObject({
      ...{ status: 'UNAVAILABLE', message: 'this node is registered at no hub' },
    })
  })
})

test('an act that nobody answered is recorded as such, and one that cannot be read back is not verified', async () => {
  const real = alice.hub.board as TaskBoard
  const failing = (error: Error) => ({ create: () => Promise.reject(error) })
  const before = records(alice, 'svc.taskboard.action').length
  const away = failing(new HubUnreachable(hub.url))
  expect(await call('create', { title: 'a' }, { home: { board: away } })).toMatchObject({
    ...{ status: 'FAILED', message: `hub unreachable: ${hub.url}` },
  })
  expect(records(alice, 'svc.taskboard.action')).toHaveLength(before)
  const silent = failing(new OrderUnanswered(hub.url))
  expect(await call('create', { title: 'a' }, { home: { board: silent } })).toMatchObject({
    status: 'FAILED',
    message: expect.stringContaining('no answer of the hub says what came of it: hub unreachable'),
  })
  expect(records(alice, 'svc.taskboard.action').at(-1)).toMatchObject({ card_id: '', answered: false })
  const blind = {
    create: (card: Parameters<TaskBoard['create']>[0]) => real.create(card),
    card: () => Promise.reject(new HubUnreachable(hub.url)),
  }
  const made = await call('create', { title: 'unseen' }, { home: { board: blind } })
  expect(made).toMatchObject({ status: 'UNVERIFIED', evidence: { nativeAck: true } })
  expect(seen(made)).toMatchObject({ title: 'unseen' })
})

test('nothing of it is published, and without settings nothing is served', () => {
  expect(providers(alice).map(({ capability, published }) => [capability, published])).toEqual(
    ['list', 'show', 'create', 'move', 'claim', 'submit', 'accept', 'reject', 'block', 'unblock'].map(
      name => [`taskboard.${name}`, false],
    ),
  )
  const opened = taskboard?.open({ ...alice.ground, config: {}, publication: new Publication() })
  expect(opened).toEqual([])
})
