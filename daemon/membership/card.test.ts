/** What a node says of itself at its hub: profile and card. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cardText } from '../../protocol/identity/card.ts'
import { presented } from '../hubs/hub.ts'
import { hubRow, writeHome } from '../store/hubs.ts'
import { HOUR_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { cardWarning, describeAgent, type Facts } from './card.ts'
import { OwnProfile } from './profile.ts'

const AID = `A${'a'.repeat(43)}`
const HUB = `A${'h'.repeat(43)}`
const facts = (more: Partial<Facts> = {}): Facts => ({
  name: 'nora',
  caps: ['shell.run@build', 'text:count', 'shell.run@build'],
  summary: '',
  aid: AID,
  hub: HUB,
  baseUrl: 'http://hub.test/base',
  binding: {
    path: '/send',
    binding: 'urn:b',
    extension: 'urn:e',
    wire: 3,
    description: 'Reached through its hub.',
    tasks: 'sealed tasks',
  },
  prices: {},
  ...more,
})

describe('a card', () => {
  test('names each capability once, with its price and what it has in common with others', () => {
    const { skills, description } = describeAgent(facts({ prices: { 'text:count': 1 } }))
    expect(skills).toMatchObject([
      { id: 'shell.run@build', tags: ['shell'] },
      { id: 'text:count', tags: ['text'] },
    ])
    expect(skills.map(skill => skill.description)).toEqual([
      'The capability shell.run@build, as this agent declares it.',
      'The capability text:count, as this agent declares it. It costs 1 credit of its hub.',
    ])
    expect(description).toBe('nora takes sealed tasks: shell.run@build, text:count.')
  })

  test('of an agent without capabilities says that it takes tasks in words', () => {
    const { skills } = describeAgent(facts({ caps: [], prices: { task: 3 } }))
    expect(skills).toMatchObject([
      { id: 'task', description: 'A task in plain words. It costs 3 credits of its hub.' },
    ])
  })

  test('has the AID in place of a name that was not chosen, and the words of its owner where there are some', () => {
    expect(describeAgent(facts({ name: '' })).name).toBe(AID)
    expect(describeAgent(facts({ summary: 'I count' })).description).toBe('I count')
  })

  test('says the address of the hub, and prices only where there are some', () => {
    const paramsOf = (card: ReturnType<typeof describeAgent>) =>
      (card as unknown as { capabilities: { extensions: { params: object }[] } }).capabilities.extensions[0]
        ?.params
    const free = describeAgent(facts())
    expect(free.supportedInterfaces).toMatchObject([{ url: 'http://hub.test/base/send' }])
    expect(free.capabilities).toMatchObject({ streaming: false, pushNotifications: false })
    expect(paramsOf(free)).toEqual({ aid: AID, hub: HUB, wire: 3 })
    expect(paramsOf(describeAgent(facts({ prices: { task: 3 } })))).toMatchObject({ prices: { task: 3 } })
  })
})

describe('the card of a node', () => {
  let world: TestWorld
  let node: TestNode
  let profile: OwnProfile

  beforeEach(async () => {
    world = new TestWorld()
    node = await world.node('nora')
    writeHome(node.ctx.store, presented(node.hub), false, world.clock.ms)
    profile = new OwnProfile(node.ctx, node.ctx.now)
  })
  afterEach(() => world[Symbol.asyncDispose]())
  const row = () => hubRow(node.ctx.store, node.hub.url)
  const given = (status = 'stored') => {
    const card = profile.card(node.hub)
    if (card === undefined) throw new Error('there is no card')
    profile.noteCard(node.hub, card, status)
    return card
  }

  test('is there once it has capabilities, and stays where the hub was given one', () => {
    expect(profile.card(node.hub)).toBeUndefined()
    expect(profile.isCardDue(node.hub)).toBe(false)
    node.ctx.settings.change({ caps: ['text.count'] })
    expect(profile.isCardDue(node.hub)).toBe(true)
    given()
    expect(profile.isCardDue(node.hub)).toBe(false)
    node.ctx.settings.change({ caps: [] })
    expect(profile.card(node.hub)?.skills).toMatchObject([{ id: 'task' }])
    expect(profile.isCardDue(node.hub)).toBe(true)
  })

  test('is signed once, and anew for other words, prices and keys', () => {
    node.ctx.settings.change({ caps: ['text.count'] })
    const first = profile.card(node.hub)
    expect(profile.card(node.hub)).toBe(first)
    node.ctx.settings.change({ prices: { 'text.count': 2 } })
    const priced = profile.card(node.hub)
    expect(priced).not.toBe(first)
    expect(priced?.skills).toMatchObject([{ description: expect.stringContaining('2 credits') }])
    node.ctx.identity.rotate(node.hub.identity.aid, world.clock.ms + 1)
    expect(profile.card(node.hub)).not.toBe(priced)
  })

  test('names the address that the hub gives itself', async () => {
    node.ctx.settings.change({ caps: ['text.count'] })
    expect(await profile.learnAddress(node.hub)).toBe(false)
    node.hub.answers({ publicUrl: async () => 'https://public.test' })
    expect(await profile.learnAddress(node.hub)).toBe(true)
    expect(profile.card(node.hub)?.supportedInterfaces).toMatchObject([{ url: 'https://public.test/send' }])
    expect(await profile.learnAddress(node.hub)).toBe(false)
  })

  test('that the hub did not take is said to the owner, with the address to look at', () => {
    node.ctx.settings.change({ caps: ['text.count'] })
    expect(cardWarning(node.ctx.store, undefined)).toBeUndefined()
    given()
    expect(cardWarning(node.ctx.store, node.hub)).toBeUndefined()
    given('refused')
    expect(cardWarning(node.ctx.store, node.hub)).toContain(`svc hub-register ${node.hub.url}`)
  })

  test('is looked for once an hour, and given again where the hub has another one or none', async () => {
    node.ctx.settings.change({ caps: ['text.count'] })
    const looks = async (served: string | undefined) => {
      const before = node.hub.calls.length
      node.hub.answers({ fetchCard: async () => served })
      await profile.watchCard(node.hub)
      return node.hub.calls.length - before
    }
    expect(await looks(undefined)).toBe(0)
    const text = cardText(given())
    expect(await looks(text)).toBe(0)
    world.pass(HOUR_MS - 1)
    expect(await looks(text)).toBe(0)
    world.pass(1)
    expect(await looks(text)).toBe(1)
    expect([row()?.cardSeenAt, profile.isCardDue(node.hub)]).toEqual([world.clock.ms, false])
    for (const served of [`${text} `, undefined]) {
      given()
      world.pass(HOUR_MS)
      expect(await looks(served)).toBe(1)
      expect([row()?.card, profile.isCardDue(node.hub)]).toEqual([null, true])
    }
    given('refused')
    world.pass(HOUR_MS)
    expect(await looks(text)).toBe(0)
  })
})
