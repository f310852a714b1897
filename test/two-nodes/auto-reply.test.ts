import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import { type Lab, never, openLab, stateOf, texts, thread, until } from './world.ts'

let lab: Lab
let alice: Node
let bob: Node
let leak = ''

const ANSWERER = `
import { readFileSync } from 'node:fs'
let prompt = ''
process.stdin.on('data', chunk => { prompt += chunk }).on('end', () => {
  const lines = prompt.match(/ask: \\w+/g) ?? []
  const asked = lines.at(-1) ?? 'nothing'
  if (asked === 'ask: break') process.exit(7)
  console.log(asked === 'ask: leak' ? readFileSync(process.argv[2], 'utf8') : 'answer to ' + asked)
})
`

beforeAll(async () => {
  lab = await openLab()
  const script = join(lab.folder, 'answer.mjs')
  leak = join(lab.folder, 'leak.txt')
  writeFileSync(script, ANSWERER)
  alice = await lab.member('alice')
  bob = await lab.member('bob', { SVC_EXEC_COMMAND: `${process.execPath} ${script} ${leak}` })
  await bob.handlers.contactAdd({ aid: alice.aid, petname: 'alice' }, never)
  await bob.handlers.autoReplySet({ backend: 'exec', poll_interval_seconds: 1, max_auto_replies: 3 }, never)
})

afterAll(() => lab.close())

const ask = async (from: Node, task: string) =>
  (await from.handlers.delegate({ to: bob.aid, task }, never)).interaction_id

describe('auto-reply', () => {
  test('a contact is answered once a turn, and the end it proposes is accepted', async () => {
    const id = await ask(alice, 'ask: one')
    await until('answered', async () => (await texts(alice, id)).includes('answer to ask: one'))
    await alice.handlers.message({ interaction_id: id, text: 'ask: two' }, never)
    await until('answered again', async () => (await texts(alice, id)).includes('answer to ask: two'))
    await alice.handlers.end({ interaction_id: id }, never)
    await until('receipt', async () => (await thread(alice, id)).receipt?.verified)
    expect(await texts(alice, id)).toHaveLength(4)
    expect((await thread(bob, id)).turns.filter(turn => turn.auto)).toHaveLength(2)
  })

  test('a stranger is not answered unless strangers are switched on', async () => {
    const eve = await lab.member('eve')
    const id = await ask(eve, 'ask: secret')
    await until('it waits', async () =>
      (await bob.handlers.inbox({ unfinished: true }, never)).items.some(item => item.interaction_id === id),
    )
    await bob.handlers.approve({ interaction_id: id }, never)
    const known = await ask(alice, 'ask: known')
    await until('the contact is answered', async () => (await texts(alice, known)).length === 2)
    expect(await texts(bob, id)).toHaveLength(1)
    await bob.handlers.autoReplySet({ strangers: true }, never)
    await until('now the stranger too', async () => (await texts(eve, id)).length === 2)
  })

  test('after max_auto_replies the node proposes to end', async () => {
    const id = await ask(alice, 'ask: n1')
    for (const n of [1, 2, 3]) {
      await until('answered', async () => (await texts(alice, id)).includes(`answer to ask: n${n}`))
      await alice.handlers.message({ interaction_id: id, text: `ask: n${n + 1}` }, never)
    }
    await until('proposed', async () => (await stateOf(alice, id)) === 'end_proposed')
    expect(await texts(alice, id)).toHaveLength(7)
  })

  test('with auto-reply a capability that nobody serves is handed over as a task in words', async () => {
    const order = { to: bob.aid, capability: 'x.y', args: { q: 'ask: args' } }
    const { interaction_id } = await alice.handlers.delegate(order, never)
    await until('answered', async () => (await texts(alice, interaction_id)).includes('answer to ask: args'))
  })

  test.each([
    ['its own key', (node: Node) => node.ctx.identity.seed],
    ['the next key', (node: Node) => node.ctx.identity.nextSeed as Uint8Array],
    ['a credential of a peer', (node: Node) => node.ctx.capabilities.heldSeeds()[0] as Uint8Array],
  ])('an answer that holds %s is not sent, in whatever spelling', async (_what, secretOf) => {
    const spelled = Buffer.from(secretOf(bob))
      .toString('hex')
      .toUpperCase()
      .match(/.{1,8}/g)
      ?.join(' ')
    writeFileSync(leak, `here you are: ${spelled}`)
    const id = await ask(alice, 'ask: leak')
    await until('it is answered', async () => (await texts(alice, id)).length === 2)
    expect(await texts(alice, id)).toEqual(['ask: leak', 'I cannot answer this request.'])
  })

  test('the test operation asks the backend outside any thread', async () => {
    const reply = await bob.handlers.autoReplyTest({ question: 'ask: test' }, never)
    expect(reply).toMatchObject({ backend: 'exec:command', answer: 'answer to ask: test' })
  })

  test('the status says when and why the last answer failed, until one succeeds', async () => {
    const failures = async () =>
      (await bob.handlers.status(undefined, never)).warnings.filter(warning => /answer failed/.test(warning))
    expect(await failures()).toEqual([])
    await ask(alice, 'ask: break')
    await until('said', async () => (await failures()).length === 1)
    expect((await failures())[0]).toMatch(
      /^the last automatic answer failed at 20\d\d-\S+Z: .*\b7\b.*; try it with: svc autoreply test$/,
    )
    await bob.handlers.autoReplyTest({ question: 'ask: test' }, never)
    expect(await failures()).toEqual([])
  })

  test('switched off it answers nothing more, and the key of the model server is never shown', async () => {
    await bob.handlers.autoReplySet(
      { backend: 'openai', api_base: 'http://127.0.0.1:1/v1', api_key: 'k-secret', model: 'm' },
      never,
    )
    expect(JSON.stringify(await bob.handlers.status(undefined, never))).not.toContain('k-secret')
    expect(await bob.handlers.autoReplyOff({}, never)).toEqual({ enabled: false })
    await expect(bob.handlers.autoReplyTest({}, never)).rejects.toMatchObject({ code: 'no_auto_reply' })
  })
})
