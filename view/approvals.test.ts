/** What a person is asked before a yes. */
import { describe, expect, test } from 'vitest'
import { approvalOf } from './approvals.ts'
import { reduce } from './reduce.ts'
import { BOB, idOf, item, reply, statusOf, threadOf, turn, viewOf } from './testing.ts'

const network = `hub:${statusOf().hub?.aid}`
const payment = { amount: 20, network, state: 'open' } as const

describe('an approval', () => {
  test('of a payment says payee, amount, hub, what for and what is left', () => {
    const spend = { auto_max: 0, agent_max: 0, day_max: 100, payee_day_max: 0, spent_today: 30 }
    const balance = { hub: BOB, network, balance: 50, held: 0, entries: [] }
    const view = [reply('spend', {}, spend), reply('balance', {}, balance)].reduce(reduce, viewOf([]))
    const approval = approvalOf(view, item(1, { side: 'sent', capability: 'text.count', payment }))
    expect(approval).toMatchObject({
      kind: 'payment',
      interactionId: idOf(1),
      asks: 'Pay 20 credits to bob?',
    })
    expect(Object.fromEntries(approval?.facts ?? [])).toEqual({
      payee: `bob ${BOB}`,
      amount: '20 credits',
      hub: 'https://hub.example',
      for: 'text.count',
      risk: 'held until the answer, which they value; to withdraw costs all of it once the work has begun',
      balance: '50, 30 after it',
      today: '30 credits went today without asking you, 70 of 100 remain',
    })
  })

  test('of a payment says what may be lost, in words of ours and theirs, and the yes says that it was seen', () => {
    const asked = (changes: object) =>
      approvalOf(viewOf([]), item(1, { side: 'sent', payment: { ...payment, ...changes } }))
    const factsOf = (changes: object) => Object.fromEntries(asked(changes)?.facts ?? [])
    expect(asked({ unheld: true })).toMatchObject({
      asks: 'Pay 20 credits to bob at once, without a hold?',
      order: { interaction_id: idOf(1), unheld: true },
    })
    expect(factsOf({ unheld: true })['risk']).toBe('nothing of it comes back, whatever the answer is')
    expect(asked({ starts: 3 })?.order).toEqual({ interaction_id: idOf(1) })
    expect(asked({ lost_payments: [{ state: 'said' }] })).toMatchObject({
      asks: 'Pay 20 credits to bob, maybe once more?',
      order: { interaction_id: idOf(1), again: true },
    })
    expect(factsOf({ starts: 3 })['risk']).toMatch(/costs 3 credits once/)
    expect(factsOf({ starts: 0 })['risk']).toMatch(/costs nothing once/)
    expect(factsOf({ says: 'only\u202e 2 credits' })['their words']).toBe('“only 2 credits”')
  })

  test('of a payment says what is left, and where that is not enough', () => {
    const factsOf = (balance: number, spent_today: number, day_max = 100) => {
      const spend = { auto_max: 0, agent_max: 0, day_max, payee_day_max: 0, spent_today }
      const account = { hub: BOB, network, balance, held: 0, entries: [] }
      const view = [reply('spend', {}, spend), reply('balance', {}, account)].reduce(reduce, viewOf([]))
      return Object.fromEntries(approvalOf(view, item(1, { side: 'sent', payment }))?.facts ?? [])
    }
    expect(factsOf(20, 0)['balance']).toBe('20, 0 after it')
    expect(factsOf(19, 0)['balance']).toBe('19; not enough')
    expect(factsOf(20, 101)['today']).toBe('101 credits went today without asking you, 0 of 100 remain')
    expect(factsOf(20, 0, 0)['today']).toBe('nothing may go without asking you')
  })

  test('of a payment has the preview of the task where it is of our own words', () => {
    const asked = (preview_mine: boolean) =>
      approvalOf(viewOf([]), item(1, { side: 'sent', preview: 'count these', preview_mine, payment }))
    const what = (preview_mine: boolean) => Object.fromEntries(asked(preview_mine)?.facts ?? [])['for']
    expect([what(true), what(false)]).toEqual(['count these', expect.stringContaining('being loaded')])
  })

  test('of a payment says what for in our own words, not in those of the payee', () => {
    const asked = item(1, { side: 'sent', preview: 'pay, it is for your taxes', payment })
    const facts = (view: Parameters<typeof approvalOf>[0]) =>
      Object.fromEntries(approvalOf(view, asked)?.facts ?? [])
    expect(facts(viewOf([]))['for']).toContain('being loaded')
    const turns = [turn(1, { mine: true, text: 'count these' }), turn(2, { text: 'pay' })]
    const thread = threadOf(1, { side: 'sent', turns })
    const view = reduce(viewOf([]), reply('thread', { interaction_id: idOf(1) }, thread))
    expect(facts(view)['for']).toBe('count these')
  })

  test('of a stranger names the whole AID', () => {
    const approval = approvalOf(viewOf([]), item(1, { state: 'pending', peer_name: null }))
    expect(approval).toMatchObject({ kind: 'task', asks: expect.stringContaining('stranger') })
    expect(Object.fromEntries(approval?.facts ?? [])['from']).toBe(BOB)
  })

  test('of a stranger names the hub, and the files as soon as they are known', () => {
    const asked = item(1, { state: 'pending', peer_name: null, attachments: 2 })
    const facts = (view: Parameters<typeof approvalOf>[0], of = asked) =>
      Object.fromEntries(approvalOf(view, of)?.facts ?? [])
    expect(facts(viewOf([]))).toMatchObject({ hub: 'https://hub.example', files: '2 files' })
    const file = { media_type: 'text/plain', bytes: 1200, cid: 'bafkrei', path: null }
    const attachments = [
      { ...file, name: 'a.md' },
      { ...file, name: 'b\u202eexe.md' },
    ]
    const thread = threadOf(1, { turns: [turn(1, { kind: 'delegate', attachments })] })
    const view = reduce(viewOf([]), reply('thread', { interaction_id: idOf(1) }, thread))
    expect(facts(view)['files']).toBe('2 files: “a.md” (1.2 kB), “bexe.md” (1.2 kB)')
    expect(facts(viewOf([]), item(1, { state: 'pending', peer_name: null }))['files']).toBe('none')
    const hub = { ...statusOf().hub, sealed: false } as NonNullable<ReturnType<typeof statusOf>['hub']>
    expect(facts(viewOf([], { hub }))['hub']).toContain('NOT sealed')
  })

  test('is nothing where nothing waits', () => {
    expect(approvalOf(viewOf([]), item(1))).toBeUndefined()
    expect(
      approvalOf(viewOf([]), item(1, { side: 'sent', payment: { ...payment, state: 'held' } })),
    ).toBeUndefined()
  })
})
