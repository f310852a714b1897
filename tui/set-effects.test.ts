/** What is done for settings and for several tasks, and what is said of it. */
import { describe, expect, test } from 'vitest'
import { Live } from '../view/live.ts'
import { NodeGone, NodeRefused } from '../view/node-client.ts'
import { Clock, idOf, item, ScriptedNode, statusOf } from '../view/testing.ts'
import { emptyBuffer } from './edit.ts'
import { Effects } from './effects.ts'
import type { Host } from './host.ts'
import { type Form, firstModel, type Model } from './model.ts'

async function following(answers: ConstructorParameters<typeof ScriptedNode>[0], first: Partial<Model> = {}) {
  const node = new ScriptedNode(answers)
  const clock = new Clock()
  const live = new Live(node, clock)
  void live.run()
  await clock.pass(1_000)
  let model: Model = { ...firstModel({ columns: 80, rows: 24 }), ...first }
  const effects = new Effects({
    host: {} as Host,
    live,
    terminal: {} as never,
    model: () => model,
    change: change => {
      model = change(model)
    },
  })
  return {
    node,
    live,
    effects,
    model: () => model,
    calls: (name: string) => node.calls.filter(call => call.name === name),
  }
}

const form = (id: string, values: Form['values']): Form => ({
  id,
  values,
  at: 0,
  buffer: emptyBuffer,
  isSending: false,
})
const spendNow = { auto_max: 0, agent_max: 0, day_max: 0, payee_day_max: 0 }
const values = { auto_max: '5', agent_max: '0', day_max: '10', payee_day_max: '10' }
const asNumbers = { auto_max: 5, agent_max: 0, day_max: 10, payee_day_max: 10 }

describe('a setting', () => {
  test('is set, closed, said, and undone by u as it was', async () => {
    const scene = await following(
      {
        spend: () => ({ ...spendNow, spent_today: 0 }),
        prices: () => ({ prices: [] }),
        balance: () => ({ balance: 0, held: 0 }) as never,
        spendSet: input => ({ ...spendNow, ...input }) as never,
      },
      { form: form('spend', values) },
    )
    await scene.live.openAccount()
    await scene.effects.run({ type: 'set', id: 'spend', values })
    expect(scene.calls('spendSet').map(({ input }) => input)).toEqual([asNumbers])
    const { form: left, toast, undo } = scene.model()
    expect([left, toast?.tone]).toEqual([undefined, 'good'])
    expect(toast?.says).toContain('u undoes it')
    await scene.effects.run(undo?.effect ?? { type: 'quit' })
    expect(scene.calls('spendSet').at(-1)?.input).toEqual(spendNow)
  })

  test('that the node refuses stays open at the field that the refusal names', async () => {
    const scene = await following(
      {
        spendSet: () => {
          throw new NodeRefused('bad_request', 'day_max: so little is not taken')
        },
      },
      { form: form('spend', values) },
    )
    await scene.effects.run({ type: 'set', id: 'spend', values })
    expect(scene.model().form).toMatchObject({
      at: 2,
      isSending: false,
      fault: 'day_max: so little is not taken',
    })
  })

  test('without fields that is refused says so at the foot', async () => {
    const scene = await following({
      hubLeave: () => {
        throw new NodeRefused('wrong_state', 'the hub does not answer')
      },
    })
    await scene.effects.run({ type: 'set', id: 'hub_leave', values: {} })
    expect(scene.model().toast).toMatchObject({ says: 'the hub does not answer', tone: 'bad' })
  })

  test('is tried without being kept, and what came of it stands in the form', async () => {
    const answering = { who: 'agent', agent: 'claude', tools: 'none', strangers: 'no', send_files: 'no' }
    const given = { ...answering, max_auto_replies: '3', api_timeout_seconds: '60', max_history: '9' }
    const scene = await following(
      { autoReplyTest: () => ({ backend: 'exec', answer: 'I am ready', ms: 1_200 }) },
      { form: form('auto_reply', given) },
    )
    await scene.effects.run({ type: 'try', id: 'auto_reply', values: given })
    expect(scene.model().form).toMatchObject({
      isSending: false,
      told: { says: 'it answered in 1.2 s: I am ready' },
    })
    expect(scene.calls('autoReplySet')).toEqual([])
  })

  test('that turned the auto-reply off is turned on again as it was, unless it has a key that no screen knows', async () => {
    const undoOf = async (api_key_set: boolean) => {
      const auto_reply = { backend: 'exec', agent: 'claude', api_key_set } as const
      const scene = await following({
        autoReplyShow: () => ({ enabled: true, auto_reply }),
        autoReplyOff: () => ({ enabled: false }),
        status: () => statusOf(),
      })
      await scene.live.openNode()
      await scene.effects.run({ type: 'set', id: 'auto_reply_off', values: {} })
      return scene.model().undo?.effect
    }
    expect(await undoOf(false)).toMatchObject({
      name: 'autoReplySet',
      input: { backend: 'exec', agent: 'claude' },
    })
    expect(await undoOf(true)).toBeUndefined()
  })
})

describe('several tasks', () => {
  const pending = [1, 2, 3].map(n => item(n, { state: 'pending', peer_name: `p${n}` }))
  test('are done one by one; what failed stays marked and says why', async () => {
    const ids = [1, 2, 3].map(idOf)
    const scene = await following(
      {
        inbox: () => ({ items: pending, new_cursor: 'n0.0' }),
        interactions: () => ({ items: [] }),
        approve: ({ interaction_id: id }) => {
          if (id === idOf(2)) throw new NodeRefused('wrong_state', 'it is over')
          return { interaction_id: id, state: 'open' }
        },
      },
      { marks: new Map(ids.map(id => [id, ''])) },
    )
    await scene.effects.run({ type: 'bulk', name: 'approve', ids })
    expect(scene.calls('approve')).toHaveLength(3)
    expect([...scene.model().marks]).toEqual([[idOf(2), 'it is over']])
    expect(scene.model().toast?.says).toBe('2 tasks approved; 1 task not: p2: it is over')
  })

  test('whose answer was lost are not known, and are counted as the node has them once it answers', async () => {
    let isGone = false
    const rows = [item(1, { state: 'ended', peer_name: 'p1' }), item(2, { state: 'ended', peer_name: 'p2' })]
    const scene = await following(
      {
        inbox: () => ({ items: rows, new_cursor: 'n0.0' }),
        interactions: () => {
          if (isGone) throw new NodeGone('the node is gone')
          return { items: [item(1, { archived: true }), item(2, { peer_name: 'p2' })] }
        },
        archive: () => {
          isGone = true
          throw new NodeGone('the node is gone')
        },
      },
      { marks: new Map([idOf(1), idOf(2)].map(id => [id, ''])) },
    )
    const done = scene.effects.run({ type: 'bulk', name: 'archive', ids: [idOf(1), idOf(2)] })
    await expect.poll(() => scene.model().toast?.says).toContain('2 tasks not known yet')
    expect(scene.model().toast?.says).toContain('0 tasks archived')
    expect([...scene.model().marks.keys()]).toEqual([idOf(1), idOf(2)])
    expect(scene.model().undo?.effect).toBeUndefined()
    isGone = false
    await done
    expect(scene.model().toast?.says).toMatch(
      /^1 task archived; 1 task not: p2: it was not done.*; u undoes it$/,
    )
    expect([...scene.model().marks.keys()]).toEqual([idOf(2)])
    expect(scene.model().undo?.effect).toMatchObject({ name: 'unarchive', ids: [idOf(1)] })
  })

  test('that were archived come back with u', async () => {
    const scene = await following({
      inbox: () => ({ items: [item(1, { state: 'ended' })], new_cursor: 'n0.0' }),
      interactions: () => ({ items: [item(1, { state: 'ended', archived: true })] }),
      archive: input => ({ interaction_id: input.interaction_id, archived: input.on }) as never,
    })
    await scene.effects.run({ type: 'bulk', name: 'archive', ids: [idOf(1)] })
    expect(scene.model().undo?.effect).toEqual({ type: 'bulk', name: 'unarchive', ids: [idOf(1)] })
    expect(scene.model().toast?.says).toContain('u undoes it')
  })
})
