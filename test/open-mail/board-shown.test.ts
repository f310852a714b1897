/** The task board as a node shows it to its person: so much at once, with names, and refusals that say what to do next. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { boardOperations } from '../../daemon/control/board.ts'
import { BoardRefused, type CardOrder, OrderUnanswered, type TaskBoard } from '../../daemon/hubs/board.ts'
import { HubUnreachable } from '../../daemon/hubs/hub.ts'
import { startTestHub, type TestHub } from '../../hub/testing/hub.ts'
import type { CardAction, FreeCardColumn } from '../../protocol/contract/board.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { never, type OpenNode, openNode } from './node.ts'

let hub: TestHub
let alice: OpenNode
let bob: OpenNode
let carol: OpenNode
beforeAll(async () => {
  hub = await startTestHub({ wires: [1] })
  alice = await openNode(hub)
  bob = await openNode(hub)
  carol = await openNode(hub)
  bob.ground.contacts.add(alice.aid, 'alice')
})
afterAll(async () => {
  for (const node of [alice, bob, carol]) await node.close()
  await hub.close()
})

const partsOf = ({ ground, hub: home }: OpenNode, board = home.board) => ({
  asker: { identity: ground.identity, timers: systemTimers },
  contacts: ground.contacts,
  home: () => ({ identity: home.identity, board }),
})
const operationsOf = (node: OpenNode, board?: TaskBoard) => boardOperations(partsOf(node, board))
const made = async (title: string, column: FreeCardColumn = 'ready') =>
  (await operationsOf(alice).boardCreate({ title, column }, never)).card_id
const act = (node: OpenNode, action: CardAction, order: CardOrder) =>
  (node.hub.board as TaskBoard).act(action, order)

describe('a card', () => {
  test('names people as this node does, and says what this node is to it', async () => {
    const card_id = await made('who is who')
    expect(await operationsOf(bob).boardClaim({ card_id }, never)).toMatchObject({
      ...{ card_id, title: 'who is who', column: 'in_progress', state: 'claimed', roles: ['assignee'] },
      ...{ creator: alice.aid, creator_name: 'alice', assignee: bob.aid, assignee_name: null },
    })
    const shown = await operationsOf(alice).boardCard({ card_id }, never)
    expect(shown).toMatchObject({ roles: ['creator'], creator_name: null })
    expect(shown.events).toMatchObject([
      { actor: alice.aid, mine: true, action: 'create', detail: 'ready' },
      { actor: bob.aid, mine: false, action: 'claim', detail: 'in_progress' },
    ])
    await act(bob, 'submit', { card: card_id })
  })

  test('shows the newest hundred of what happened, and how many came before', async () => {
    const card_id = await made('moved about', 'draft')
    for (let n = 0; n < 60; n++)
      for (const column of ['backlog', 'draft'] as const) await act(alice, 'move', { card: card_id, column })
    const shown = await operationsOf(alice).boardCard({ card_id }, never)
    expect([shown.events.length, shown.earlier_events]).toEqual([100, 21])
    expect(shown.events.at(-1)).toMatchObject({ action: 'move', detail: 'draft' })
  })
})

describe('the board', () => {
  test('has all seven columns, twenty cards of each, the newest first, and goes on from a cursor', async () => {
    for (let n = 1; n <= 23; n++) {
      hub.clock.advance(1)
      await made(`backlog ${n}`, 'backlog')
    }
    const { board } = operationsOf(bob)
    const whole = await board({}, never)
    expect(whole.hub).toBe(hub.aid)
    expect(whole.columns.map(({ column }) => column)).toEqual([
      ...['draft', 'backlog', 'ready', 'in_progress', 'in_review', 'done', 'blocked'],
    ])
    const first = whole.columns.find(({ column }) => column === 'backlog')
    expect([first?.total, first?.cards.length, first?.cards[0]?.title]).toEqual([23, 20, 'backlog 23'])
    const cursor = String(first?.next_cursor)
    const rest = await board({ column: 'backlog', cursor }, never)
    expect(rest.columns).toMatchObject([
      { column: 'backlog', cards: [{ title: 'backlog 3' }, { title: 'backlog 2' }, { title: 'backlog 1' }] },
    ])
    expect(rest.columns[0]).not.toHaveProperty('next_cursor')
    await expect(board({ column: 'backlog', cursor: 'n1.1' }, never)).rejects.toMatchObject({
      code: 'bad_request',
    })
  })

  test('of mine are the cards that this node made or has taken', async () => {
    const card = await made('of bob')
    await act(bob, 'claim', { card })
    const { columns } = await operationsOf(bob).board({ mine: true }, never)
    const cards = columns.flatMap(column => column.cards)
    expect(cards.map(({ title }) => title).sort()).toEqual(['of bob', 'who is who'])
    expect(columns.find(({ column }) => column === 'backlog')?.total).toBe(0)
    await act(bob, 'submit', { card })
  })
})

describe('a refusal', () => {
  test('of a card that another has says where it is and who has it', async () => {
    const card_id = await made('taken')
    await act(carol, 'claim', { card: card_id })
    await expect(operationsOf(bob).boardClaim({ card_id }, never)).rejects.toMatchObject({
      code: 'wrong_state',
      message: `you cannot claim this card now: it is in in_progress, made by alice, taken by ${carol.aid}`,
      next: `svc task show ${card_id}`,
    })
    await act(carol, 'submit', { card: card_id })
  })

  test('of what is for others says whose it is', async () => {
    const card_id = await made('not for bob')
    await expect(operationsOf(bob).boardMove({ card_id, column: 'draft' }, never)).rejects.toMatchObject({
      code: 'not_for_you',
      message: 'this card is not for you to move: made by alice, taken by nobody yet',
    })
  })

  test('of a fourth card in progress says to hand one in', async () => {
    const cards = [await made('one'), await made('two'), await made('three'), await made('four')]
    const { boardClaim } = operationsOf(carol)
    for (const card_id of cards.slice(0, 3)) await boardClaim({ card_id }, never)
    await expect(boardClaim({ card_id: cards[3] as string }, never)).rejects.toMatchObject({
      code: 'wrong_state',
      message: 'its assignee has as many cards in progress as the hub lets one have',
      next: expect.stringContaining('svc task ls --mine --column in_progress'),
    })
  })

  test('of an id that is none says where ids are', async () => {
    const refused = { code: 'unknown_card', message: 'the task board has no card of this id' }
    await expect(operationsOf(bob).boardCard({ card_id: 'none' }, never)).rejects.toMatchObject(refused)
    await expect(operationsOf(bob).boardClaim({ card_id: 'none' }, never)).rejects.toMatchObject(refused)
  })

  test('of a hub without a board is one sentence, for every operation', async () => {
    const none = boardOperations({
      ...partsOf(alice),
      home: () => ({ identity: alice.hub.identity, board: undefined }),
    })
    const card_id = 'x'
    const asked = [
      none.board({}, never),
      none.boardCard({ card_id }, never),
      none.boardCreate({ title: 'a' }, never),
      none.boardMove({ card_id, column: 'draft' }, never),
      none.boardClaim({ card_id }, never),
      none.boardSubmit({ card_id }, never),
      none.boardAccept({ card_id }, never),
      none.boardReject({ card_id }, never),
      none.boardBlock({ card_id }, never),
      none.boardUnblock({ card_id }, never),
    ]
    for (const one of await Promise.allSettled(asked))
      expect(one).toMatchObject({
        reason: { code: 'no_board', message: 'the hub of this node has no task board' },
      })
  })

  test('that nobody gave, because no answer came, says what to look at first', async () => {
    const failing = (error: Error) => {
      const reject = () => Promise.reject(error)
      return operationsOf(alice, { create: reject, act: reject } as unknown as TaskBoard)
    }
    await expect(
      failing(new OrderUnanswered(hub.url)).boardCreate({ title: 'a' }, never),
    ).rejects.toMatchObject({
      code: 'hub_unreachable',
      message: expect.stringContaining('whether the card was made is not known'),
      next: expect.stringContaining('\nsvc task ls --mine'),
    })
    const again = {
      code: 'hub_unreachable',
      message: `hub unreachable: ${hub.url}`,
      next: 'the same command again, once the hub answers',
    }
    const away = failing(new HubUnreachable(hub.url))
    await expect(away.boardCreate({ title: 'a' }, never)).rejects.toMatchObject(again)
    await expect(away.boardClaim({ card_id: 'a' }, never)).rejects.toMatchObject(again)
  })

  test('in words of the hub is one line', async () => {
    const words = new BoardRefused('malformed', `no\u001b[2J\nnext: rm -rf ~${'x'.repeat(1000)}`)
    const board = { create: () => Promise.reject(words) } as unknown as TaskBoard
    const refused = await operationsOf(alice, board)
      .boardCreate({ title: 'a' }, never)
      .catch(error => error as Error)
    expect(String((refused as Error).message)).toMatch(
      /^the hub did not take it: no\[2J next: rm[^\n]{1,300}$/,
    )
  })
})
