/** When a payer asks hubs: soon at first, ever less often, and not where nothing is open. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { networkOf } from '../../protocol/proof/payment.ts'
import { noteQuote } from '../store/quotes.ts'
import { noteSettled } from '../store/restores.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { HomeQuestions, HubQuestions } from './hub-questions.ts'

const HOUR_MS = 3_600_000
const { signal } = new AbortController()

describe('questions about payments', () => {
  const asked: string[] = []
  let open = 0
  let across: { network: string }[] = []
  const part = (name: string) => ({
    ask: async () => void asked.push(name),
    settle: async () => void asked.push(name),
  })
  let told: object[] = []
  const questions = (hub: object | undefined, store: object = { rows: () => told }) =>
    new HubQuestions({
      store: store as never,
      accounts: { accountOf: async () => hub as never },
      ownRefunds: { askAcross: async () => void asked.push('own refunds'), across } as never,
      takenRefunds: part('refunds') as never,
      silent: part('silent') as never,
      unsettled: { ...part('unsettled'), count: () => open } as never,
    })

  test('are due after five seconds where another end is open, then after twice as long, up to an hour', () => {
    const hubs = questions({})
    open = 0
    expect(hubs.nextInMs()).toBe(HOUR_MS)
    open = 1
    const pauses = Array.from({ length: 12 }, () => hubs.nextInMs())
    expect(pauses.slice(0, 4)).toEqual([5_000, 10_000, 20_000, 40_000])
    expect(pauses.at(-1)).toBe(HOUR_MS)
    open = 2
    expect(hubs.nextInMs()).toBe(5_000)
    open = 1
    expect(hubs.nextInMs()).toBe(10_000)
    open = 0
    expect(hubs.nextInMs()).toBe(HOUR_MS)
    across = [{ network: 'hub:x' }]
    expect(questions({}).nextInMs()).toBe(5_000)
    across = []
    told = [{ network: 'hub:x' }]
    expect(questions({}).nextInMs()).toBe(5_000)
    told = []
  })

  test('go to a hub that has an account, refunds first, and to no other', async () => {
    asked.length = 0
    await questions(undefined).ask('hub:x', signal)
    expect(asked).toEqual([])
    await questions({}).ask('hub:x', signal)
    expect(asked).toEqual(['refunds', 'own refunds', 'silent', 'unsettled'])
  })

  test('begin with what an earlier release took for ended, once in the life of a node', () => {
    let opened = 0
    const run = () => {
      opened += 1
    }
    const hubs = questions({}, { run })
    hubs.reopen()
    expect(opened).toBe(1)
    hubs.reopen()
    expect(opened).toBe(1)
  })
})

describe('questions to the home about lost copies', () => {
  let world: TestWorld
  let node: TestNode
  let dueInMs: number | undefined
  let asked: number

  beforeEach(async () => {
    world = new TestWorld()
    node = await world.node('nora')
    asked = 0
  })
  afterEach(() => world[Symbol.asyncDispose]())

  const lost = {
    dueInMs: () => dueInMs,
    ask: async () => {
      asked += 1
    },
  }
  const questions = () => {
    const { store, hub, hubNow } = node.ctx
    return new HomeQuestions({ store, hub, lost: lost as never }, hubNow)
  }

  test('are repeated after five seconds, then after twice as long, until they are answered', () => {
    const home = questions()
    dueInMs = 0
    const due = Array.from({ length: 12 }, () => home.due())
    expect(due.every(one => one.home === node.hub)).toBe(true)
    expect(due.map(({ nextInMs }) => nextInMs).slice(0, 3)).toEqual([5_000, 10_000, 20_000])
    expect(due.at(-1)?.nextInMs).toBe(HOUR_MS)
    for (const waitMs of [7, 1]) {
      dueInMs = waitMs
      expect(home.due()).toEqual({ home: undefined, nextInMs: waitMs })
    }
    dueInMs = 0
    expect(home.due()).toEqual({ home: node.hub, nextInMs: 5_000 })
    dueInMs = undefined
    expect(home.due()).toEqual({ home: undefined, nextInMs: HOUR_MS })
    node.ctx.hub.leave()
    dueInMs = 0
    expect(home.due()).toEqual({ home: undefined, nextInMs: HOUR_MS })
  })

  test('are asked before a person pays an open price on a node that was restored', async () => {
    const other = await world.node('otto')
    const { store } = node.ctx
    const interaction = node.delegate(other)
    const askBefore = async () => {
      await questions().askBefore(interaction, signal)
      return asked
    }
    const network = networkOf(node.hub.identity.aid)
    const price = { amount: 5, network, holdSeconds: 7200, settleSeconds: 3600 }
    node.within(() => noteSettled(store, world.clock.ms - 1000, world.clock.ms))
    expect(await askBefore()).toBe(0)
    node.within(() => noteQuote(store, interaction.key, price))
    expect(await askBefore()).toBe(1)
    node.ctx.hub.leave()
    expect(await askBefore()).toBe(1)
  })

  test('are not asked on a node that never was restored', async () => {
    const other = await world.node('otto')
    const interaction = node.delegate(other)
    const network = networkOf(node.hub.identity.aid)
    node.within(() =>
      noteQuote(node.ctx.store, interaction.key, {
        amount: 5,
        network,
        holdSeconds: 7200,
        settleSeconds: 3600,
      }),
    )
    await questions().askBefore(interaction, signal)
    expect(asked).toBe(0)
  })
})
