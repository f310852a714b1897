/** What is done for presses: what is sent is sent once, and no word is lost. */
import { describe, expect, test } from 'vitest'
import { Live } from '../view/live.ts'
import { NodeGone, NodeRefused } from '../view/node-client.ts'
import { ALICE, Clock, idOf, item, ScriptedNode } from '../view/testing.ts'
import { bufferOf } from './edit.ts'
import { Effects } from './effects.ts'
import type { Draft, Host } from './host.ts'
import { act, type Composer, firstModel, type Model } from './model.ts'
import { RowCache } from './rows.ts'
import { pressed } from './update.ts'

type Sent = { text?: string | undefined; idempotency_key?: string | undefined }
const target = { kind: 'reply', id: idOf(1) } as const
const composer = (text: string, files: string[] = []): Composer => ({
  target,
  buffer: bufferOf(text),
  files,
  isSending: true,
})

function scene() {
  const sent: Sent[] = []
  let fault: Error | undefined
  const node = new ScriptedNode({
    interactions: () => ({ items: [item(1)] }),
    find: () => ({ agents: [], searched: 'own_hub' }),
    decline: () => ({ interaction_id: idOf(1), state: 'declined' }),
    archive: () => ({ interaction_id: idOf(1), archived: false }),
    message(input) {
      sent.push(input)
      if (fault !== undefined) throw fault
      return {
        interaction_id: idOf(1),
        message_id: 'm',
        turn: 2,
        state: 'open',
        delivery: { state: 'queued' },
      }
    },
  })
  const drafts = new Map<string, Draft>()
  const ran: string[] = []
  let starts = 0
  const host = {
    drafts: {
      names: () => [...drafts.keys()],
      read: (name: string) => drafts.get(name),
      write: (name: string, draft: Draft) => void drafts.set(name, draft),
      remove: (name: string) => void drafts.delete(name),
    },
    now: () => 0,
    finalOf: (line: string) => (line.startsWith('redeem') ? 'the credits are gone' : undefined),
    isStep: (line: string) => line.startsWith('contact rm'),
    async command(line: string) {
      ran.push(line)
      return 0
    },
    async startNode() {
      starts += 1
    },
    asCalled: (text: string) => text.replaceAll('svc-hub', 'npx svc-hub'),
    folder: (path: string) => path,
    file: (path: string) => (path.startsWith('/') ? { path } : { fault: `there is no file ${path}` }),
  } as unknown as Host
  const live = new Live(node, new Clock())
  let model: Model = firstModel({ columns: 80, rows: 24 })
  const effects = new Effects({
    host,
    live,
    terminal: {} as never,
    model: () => model,
    change: change => {
      model = change(model)
    },
  })
  const send = (given: Composer) => {
    model = { ...model, composer: given }
    return effects.run({ type: 'send', composer: given })
  }
  const show = (given: Composer) => {
    model = { ...model, composer: given }
  }
  const set = (change: Partial<Model>) => {
    model = { ...model, ...change }
  }
  const press = (key: string) => {
    const given = { model, view: live.view, cache: new RowCache(), now: 0 }
    const step = pressed(given, { key })
    model = step.model
    return step.effects
  }
  const fails = (error?: Error) => {
    fault = error
  }
  return {
    sent,
    ran,
    drafts,
    effects,
    send,
    show,
    set,
    press,
    fails,
    started: () => starts,
    model: () => model,
  }
}

test('a command that cannot be taken back is asked for, and runs after a yes', async () => {
  const { effects, model, ran } = scene()
  await effects.run({ type: 'command', line: 'redeem 5' })
  expect([ran, model().confirm]).toMatchObject([
    [],
    { asks: 'Run svc redeem 5?', facts: [['then', 'the credits are gone']] },
  ])
  await effects.run(model().confirm?.yes ?? { type: 'quit' })
  expect(ran).toEqual(['redeem 5'])
  await effects.run({ type: 'command', line: 'status' })
  expect(ran).toEqual(['redeem 5', 'status'])
})

test('a page of ours names its commands as they are called here', async () => {
  const { effects, model } = scene()
  await effects.run({ type: 'read', title: 'a hub', text: 'svc-hub serve' })
  expect(model().output).toMatchObject({ title: 'a hub', text: 'npx svc-hub serve', isRunning: false })
})

test('a hub is joined after the node was started, and then the agents there are seen', async () => {
  const { effects, model, ran, started } = scene()
  await effects.run({ type: 'command', line: "hub-register 'http://127.0.0.1:8088' --name 'me'" })
  expect(started()).toBe(1)
  expect(ran).toEqual(["hub-register 'http://127.0.0.1:8088' --name 'me'"])
  expect([model().output, model().screen]).toEqual([undefined, 'agents'])
})

test('how a hub is hosted names this node, and asks for its address then', async () => {
  const { effects, model } = scene()
  await effects.run({ type: 'host' })
  expect(model().output?.text).toContain(`npx svc-hub admit ${ALICE}`)
  expect(model().output?.then).toMatchObject({ kind: 'hub', buffer: { text: 'http://127.0.0.1:8088' } })
})

describe('a message', () => {
  test('that was not answered is sent again as the same one, other words as another', async () => {
    const { send, sent, fails, model } = scene()
    fails(new Error('the node does not answer'))
    await send(composer('once'))
    expect(model().composer).toMatchObject({ isSending: false, fault: 'the node does not answer' })
    fails()
    await send(composer('once'))
    await send(composer('once'))
    await send(composer('more'))
    const keys = sent.map(({ idempotency_key: key }) => key)
    expect(keys[0]).toBe(keys[1])
    expect(new Set(keys.slice(1)).size).toBe(3)
  })

  test('is sent exactly as it was written', async () => {
    const { send, sent } = scene()
    const text = '\u{1f469}\u200d\u{1f467} \u0645\u06cc\u200c\u062e \u202ex \n'
    await send(composer(text))
    expect(sent[0]?.text).toBe(text)
  })

  test('that was sent closes its composer and leaves no draft; one that was refused keeps both', async () => {
    const { send, drafts, effects, fails, model } = scene()
    await effects.run({ type: 'keep_draft', composer: composer('words') })
    expect([...drafts.values()]).toEqual([{ text: 'words', files: [] }])
    fails(new NodeRefused('wrong_state', 'it has ended', 'svc inbox'))
    await send(composer('words'))
    expect([drafts.size, model().composer?.buffer.text]).toEqual([1, 'words'])
    fails()
    await send(composer('words'))
    expect([drafts.size, model().composer]).toEqual([0, undefined])
  })

  test('beside those of another screen stands with them, and that is said', async () => {
    const { drafts, effects, model, show } = scene()
    const mine = { ...composer('mine'), isSending: false }
    show(mine)
    await effects.run({ type: 'load_draft', target })
    drafts.set(idOf(1), { text: 'theirs', files: ['/x'] })
    await effects.run({ type: 'keep_draft', composer: mine })
    expect(drafts.get(idOf(1))).toEqual({ text: 'theirs\n\nmine', files: ['/x'] })
    expect(model().composer?.buffer.text).toBe('theirs\n\nmine')
    expect(model().toast?.says).toContain('both stand here now')
  })

  test('with a file that is not there is not sent', async () => {
    const { send, sent, model } = scene()
    await send(composer('see', ['nothing.md']))
    expect([sent, model().composer?.fault]).toEqual([[], 'there is no file nothing.md'])
  })
})

describe('u', () => {
  const archived = {
    says: 'put back',
    effect: act('archive', { interaction_id: idOf(1), on: false }, 'back'),
  }

  test('takes back nothing that was done before what cannot be taken back', async () => {
    const { effects, model, press, set } = scene()
    set({ undo: archived })
    await effects.run(act('decline', { interaction_id: idOf(1) }, 'declined'))
    expect(press('u')).toEqual([])
    expect(model().toast?.says).toBe('this cannot be undone: declined')
  })

  test('takes back nothing that was done before a command line, but for one that only reads', async () => {
    const { effects, model, press, set } = scene()
    set({ undo: archived })
    await effects.run({ type: 'command', line: 'inbox' })
    expect(model().undo).toEqual(archived)
    await effects.run({ type: 'command', line: 'contact rm bob' })
    set({ output: undefined })
    expect(press('u')).toEqual([])
    expect(model().toast?.says).toBe('this cannot be undone: svc contact rm bob')
  })

  test('takes back nothing before words that were sent, or what was not answered', async () => {
    const { send, fails, model, press, set } = scene()
    set({ undo: archived })
    await send(composer('words'))
    expect(press('u')).toEqual([])
    expect(model().toast?.says).toBe('this cannot be undone: sent')
    set({ undo: archived })
    fails(new NodeGone('the node is gone'))
    await send(composer('words'))
    set({ composer: undefined })
    expect(press('u')).toEqual([])
    expect(model().toast?.says).toBe('this cannot be undone: the node is gone')
  })

  test('leaves nothing to undo behind it', async () => {
    const { effects, model, press, set } = scene()
    set({ undo: archived })
    for (const effect of press('u')) await effects.run(effect)
    expect(press('u')).toEqual([])
    expect(model().toast?.says).toBe('there is nothing to undo')
  })
})
