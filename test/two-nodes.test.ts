import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Node, startNode } from '../daemon/node.ts'
import { startTestHub, type TestHub } from '../hub/testing.ts'

const never = new AbortController().signal
const home = mkdtempSync(join(tmpdir(), 'svc-two-nodes-'))
let hub: TestHub
let alice: Node
let bob: Node

async function start(name: string): Promise<Node> {
  const dir = join(home, name)
  const { writeConfig } = await import('../daemon/config.ts')
  writeConfig(dir, { control_addr: '127.0.0.1:0' })
  return startNode({ dir, name, env: { SVC_RUNTIME_DIR: join(home, `run-${name}`) } })
}

/** Waits for a condition of the two nodes, by their events and a short pause; fails by the test's own time limit. */
async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  for (let i = 0; i < 400; i++) {
    if (await holds()) return
    await new Promise(resolve => setTimeout(resolve, 25))
  }
  throw new Error(`did not happen: ${what}`)
}

beforeAll(async () => {
  hub = await startTestHub()
  alice = await start('alice')
  bob = await start('bob')
})

afterAll(async () => {
  await alice?.stop()
  await bob?.stop()
  await hub?.close()
})

describe('two nodes and a hub', () => {
  test('a node that is not admitted is told the command for the operator', async () => {
    await expect(alice.handlers.hubRegister({ url: hub.url }, never)).rejects.toMatchObject({
      code: 'hub_refused',
      next: expect.stringContaining(`svc-hub admit ${alice.aid}`),
    })
  })

  test('both register at the hub, which becomes their witness', async () => {
    for (const node of [alice, bob]) {
      await hub.running.hub.context.store.admit(node.aid, true)
      const reply = await node.handlers.hubRegister(
        { url: hub.url, name: node === alice ? 'alice' : 'bob' },
        never,
      )
      expect(reply).toMatchObject({
        status: 'registered',
        hub_aid: hub.aid,
        wire: 3,
        sealed: true,
        keys_status: 'stored',
      })
      expect(node.ctx.identity.log.home).toBe(hub.aid)
    }
  })

  test('a task goes from delegation through answer and end to a receipt that both signed', async () => {
    await bob.handlers.contactAdd({ aid: alice.aid, petname: 'alice' }, never)
    await alice.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
    const { interaction_id } = await alice.handlers.delegate({ to: 'bob', task: 'count to three' }, never)
    await until(
      'the task is in bob’s inbox',
      async () => (await bob.handlers.inbox({}, never)).items.length === 1,
    )
    await bob.handlers.message({ interaction_id, text: 'one two three' }, never)
    await until('alice reads the answer', async () => {
      const thread = await alice.handlers.thread({ interaction_id }, never)
      return thread.turns.at(-1)?.text === 'one two three'
    })
    await alice.handlers.end({ interaction_id }, never)
    await until(
      'bob sees the proposal',
      async () => (await bob.handlers.thread({ interaction_id }, never)).state === 'end_proposed',
    )
    await bob.handlers.end({ interaction_id, mode: 'accept' }, never)
    await until(
      'alice holds the receipt',
      async () => (await alice.handlers.thread({ interaction_id }, never)).receipt?.verified === true,
    )
    const verdict = await alice.handlers.verify({ interaction_id }, never)
    expect(verdict).toMatchObject({
      verdict: 'valid',
      content_checked: true,
      counter_signed: true,
      status: 'UNVERIFIED',
    })
    await until(
      'bob holds the counter-signature',
      async () => (await bob.handlers.verify({ interaction_id }, never)).counter_signed,
    )
  })

  test('attachments arrive whole and are saved under their names', async () => {
    const file = join(home, 'notes.txt')
    writeFileSync(file, 'x'.repeat(300_000))
    const { interaction_id } = await alice.handlers.delegate(
      { to: 'bob', task: 'read this', attach: [file] },
      never,
    )
    await until('bob has it', async () =>
      (await bob.handlers.inbox({}, never)).items.some(item => item.interaction_id === interaction_id),
    )
    const saved = await bob.handlers.pull({ interaction_id, out: join(home, 'out') }, never)
    expect(saved.files.map(one => one.name).sort()).toEqual(['notes.txt', 'request.json'])
  })
})
