/** The loops of payments and mail: a write that fails is said once, waited out and made good; a silent hub holds up nothing. */

import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino, { type Logger } from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { A2aSettings } from '../a2a/settings.ts'
import { Works } from '../a2a/works.ts'
import type { Context } from '../context.ts'
import { openOutbox, openRelay } from '../mail/open.ts'
import { a2aPush, addA2aEvent, addA2aTask, putA2aPush } from '../store/a2a.ts'
import { alarmOf } from '../store/hub-accounts.ts'
import { quoteOf } from '../store/quotes.ts'
import { reviewOf } from '../store/reviews.ts'
import { openAutoReply, openCalls, openReviewUploads, taskParts } from '../tasks/open.ts'
import { failWrites } from '../testing/failing-store.ts'
import { HOUR_MS, type TestNode } from '../testing/node.ts'
import { PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'
import { auditOf, payeeOf, payerOf } from './x402.ts'

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode
let said: string[]
const started: { stop(): void | Promise<void> }[] = []

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
  said = []
})
afterEach(async () => {
  for (const part of started.splice(0)) await part.stop()
  await world[Symbol.asyncDispose]()
})

const log: Logger = pino({ level: 'warn' }, { write: line => void said.push(JSON.parse(line).msg) })
/** The parts of a node with short rests, and a log that the test reads. */
const hurried = ({ ctx }: TestNode): Context => ({
  ...ctx,
  log,
  timings: { ...ctx.timings, backoffFirstMs: 1 },
})
function runs<T extends { start(): unknown; stop(): void | Promise<void> }>(part: T): T {
  started.push(part)
  part.start()
  return part
}
const hurriedPayer = ({ node }: PayingNode) => {
  const ctx = hurried(node)
  return payerOf(ctx, (task, pay) => taskParts(ctx).committed.commit(task, pay))
}

/** A task whose price has come, and that nobody has judged. */
async function quoted(): Promise<string> {
  const given = { to: bob.node.aid, task: 'a poem', pay: true, max_credits: PRICE }
  const id = alice.node.tasks.delegation.delegate(given)
  await world.settle()
  await bob.calls.look()
  await world.settle()
  return id
}
const quote = (id: string) => quoteOf(alice.node.ctx.store, alice.node.thread(id).key)

describe('a hub that does not answer', () => {
  test('to the questions of a payer holds up neither the payment of a price nor its refusal', async () => {
    const held = await world.held(alice, bob)
    alice.node.within(() => alice.node.tasks.leaving.cancel(alice.node.thread(held), ''))
    world.post.ledger.always('account', { kind: 'hang' })
    runs(hurriedPayer(alice))
    const isAsked = () => world.post.ledger.asked.some(({ operation }) => operation === 'account')
    await expect.poll(isAsked).toBe(true)
    const id = await quoted()
    await expect.poll(() => quote(id)?.state).toBe('paid')
    bob.node.ctx.settings.change({ prices: { task: PRICE + 1 } })
    const dearer = await quoted()
    await expect.poll(() => quote(dearer)?.reason).toContain('more than the 5 that were allowed')
  })

  test('is asked one question at a time', async () => {
    const held = await world.held(alice, bob)
    alice.node.within(() => alice.node.tasks.leaving.cancel(alice.node.thread(held), ''))
    world.post.ledger.always('account', { kind: 'hang' })
    const { ctx } = alice.node
    runs(hurriedPayer(alice))
    const asked = () => world.post.ledger.asked.filter(({ operation }) => operation === 'account').length
    await expect.poll(asked).toBe(1)
    for (let n = 0; n < 5; n++) {
      ctx.wakers.spending.wake()
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    expect(asked()).toBe(1)
  })
})

type Row = [name: string, begin: () => Promise<{ at: TestNode; start: () => void; isDone: () => unknown }>]
const rows: Row[] = [
  [
    'payer',
    async () => {
      const id = await quoted()
      return {
        at: alice.node,
        start: () => runs(hurriedPayer(alice)),
        isDone: () => quote(id)?.state === 'paid',
      }
    },
  ],
  [
    'payee',
    async () => {
      const id = await world.held(alice, bob)
      alice.node.within(() => alice.node.tasks.leaving.cancel(alice.node.thread(id), ''))
      await world.settle()
      return {
        at: bob.node,
        start: () => runs(payeeOf(hurried(bob.node))),
        isDone: () => bob.payment(id)?.state === 'ended',
      }
    },
  ],
  [
    'audits',
    async () => {
      const ctx = hurried(alice.node)
      const audit = auditOf(ctx)
      world.pass(HOUR_MS)
      return {
        at: alice.node,
        start: () => runs(audit),
        isDone: () => alarmOf(ctx.store, world.post.log.aid) !== undefined,
      }
    },
  ],
  [
    'calls',
    async () => {
      const id = alice.node.tasks.delegation.delegate({ to: bob.node.aid, task: 'a poem' })
      await world.settle()
      const ctx = hurried(bob.node)
      const words = {
        find: () => undefined,
        priceOf: ctx.modules.priceOf,
        startsOf: () => undefined,
        run: () => Promise.reject(new Error('nothing is served')),
      }
      return {
        at: bob.node,
        start: () => runs(openCalls(ctx, words, bob.payee)),
        isDone: () => bob.node.messages(id).some(({ direction }) => direction === 'out'),
      }
    },
  ],
  [
    'outbox',
    async () => {
      const id = alice.node.tasks.delegation.delegate({ to: bob.node.aid, task: 'words' })
      const at = () => alice.node.entry(alice.node.messages(id)[0]?.key)
      return {
        at: alice.node,
        start: () => runs(openOutbox(hurried(alice.node))),
        isDone: () => {
          // what could not be noted is tried again after a pause
          world.pass(1000)
          return world.post.carried.length > 0 && at().state === 'at_hub'
        },
      }
    },
  ],
  [
    'reviews',
    async () => {
      bob.node.ctx.settings.change({ prices: {} })
      const id = alice.node.tasks.delegation.delegate({ to: bob.node.aid, task: 'words' })
      await world.settle()
      bob.node.say(id, 'more words')
      await world.settle()
      await world.end({ alice: alice.node, bob: bob.node, id })
      const { ctx } = alice.node
      const { key } = alice.node.thread(id)
      ctx.store.transaction(() =>
        taskParts(ctx).ratings.keep(alice.node.thread(id), { rating: 5, comment: '' }),
      )
      return {
        at: alice.node,
        start: () => runs(openReviewUploads(hurried(alice.node))),
        isDone: () => reviewOf(ctx.store, key)?.state === 'uploaded',
      }
    },
  ],
  [
    'pushes',
    async () => {
      const { ctx } = alice.node
      const told: string[] = []
      const client = createServer((request, response) => {
        request.on('data', chunk => told.push(String(chunk))).on('end', () => response.end())
      }).listen(0, '127.0.0.1')
      await once(client, 'listening')
      started.push({ stop: () => void client.close() })
      const host = `127.0.0.1:${(client.address() as AddressInfo).port}`
      ctx.settings.change({ a2a: { enabled: false, addr: '127.0.0.1:0', push_hosts: [host] } })
      const facts = { agent: '', context: 'c', interaction: null, request: null, ends: 0 as const }
      const { key } = addA2aTask(ctx.store, {
        id: 't',
        ...facts,
        state: 'SUBMITTED',
        stateAt: 0,
        status: '{}',
      })
      const config = JSON.stringify({ url: `http://${host}/` })
      putA2aPush(ctx.store, { task: key, id: 'p', config, told: 0, nextAt: 0 })
      const body = JSON.stringify({ status: { state: 'TASK_STATE_WORKING' } })
      addA2aEvent(ctx.store, key, { body, message: null })
      const calm = hurried(alice.node)
      const settings = new A2aSettings(calm.dir, calm.settings, calm.random)
      const parts = { settings, modules: {} as never, operations: {} as never, isPaidHere: true }
      return {
        at: alice.node,
        start: () => runs(new Works(calm, parts).pushes),
        isDone: () => told.length > 0 && a2aPush(ctx.store, key, 'p')?.told === 1,
      }
    },
  ],
  [
    'relay',
    async () => {
      const id = alice.node.tasks.delegation.delegate({ to: bob.node.aid, task: 'words' })
      await alice.node.send()
      return {
        at: bob.node,
        start: () => runs(openRelay(hurried(bob.node))),
        isDone: () => bob.node.ctx.threads.findById(id) !== undefined && world.post.carried.length === 0,
      }
    },
  ],
  [
    'auto-reply',
    async () => {
      bob.node.ctx.settings.change({ prices: {} })
      const id = alice.node.tasks.delegation.delegate({ to: bob.node.aid, task: 'words' })
      await world.settle()
      const folder = mkdtempSync(join(tmpdir(), 'svc-loops-'))
      const command = join(folder, 'answer.sh')
      writeFileSync(command, '#!/bin/sh\ncat > /dev/null\necho done\n')
      chmodSync(command, 0o755)
      const auto_reply = { backend: 'exec' as const, command, poll_interval_seconds: 1 }
      bob.node.ctx.settings.change({ auto_reply })
      started.push({ stop: () => rmSync(folder, { recursive: true }) })
      return {
        at: bob.node,
        start: () => {
          const part = openAutoReply(hurried(bob.node), { PATH: process.env['PATH'] }, () => [])
          started.unshift(part)
          void part.start()
        },
        isDone: () => bob.node.messages(id).some(({ text }) => text === 'done'),
      }
    },
  ],
]

describe('a disk that fails', () => {
  const places = rows.flatMap(([name, begin]) => [1, 2, 3].map(from => [name, from, begin] as const))

  test.each(places)('under the %s, from write %i on, is waited out and said once', async (_, from, begin) => {
    const { at, start, isDone } = await begin()
    const disk = failWrites(at.ctx.store, { from, count: 4 })
    start()
    await expect.poll(isDone, { timeout: 8000 }).toBe(true)
    disk.mend()
    const turns = said.filter(words => words === 'a turn failed; it is tried again')
    // a later write may be that of the chain's file, which no turn waits for
    expect(turns.length).toBeLessThanOrEqual(1)
    if (from === 1) expect(turns).toHaveLength(disk.failed === 0 ? 0 : 1)
  })
})
