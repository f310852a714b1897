/** A week without a network, on either side or both: nothing is lost, nothing comes twice. */
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import { delegated, finished, inboxIds, type Lab, never, openPair, texts, thread, until } from './world.ts'

const DAY_MS = 86_400_000
let lab: Lab
let alice: Node
let bob: Node

beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair())
})
afterAll(() => lab.close())

const say = (from: Node, interaction_id: string, text: string, attach?: string[]) =>
  from.handlers.message({ interaction_id, text, ...(attach === undefined ? {} : { attach }) }, never)
const said = (from: string) => [1, 2, 3].map(n => `${from} ${n}`)
const ofSide = (lines: string[], from: string) => lines.filter(line => line.startsWith(`${from} `))

async function all(here: Node, id: string): Promise<void> {
  for (const from of ['alice', 'bob'])
    await until(
      `${here.ctx.identity.aid} has all of ${from}`,
      async () => ofSide(await texts(here, id), from).length >= 3,
    )
  for (const from of ['alice', 'bob']) expect(ofSide(await texts(here, id), from)).toEqual(said(from))
}

test('both sides write for a week without a network and are started anew: all arrives, once and in order', async () => {
  const id = await delegated(alice, bob, 'go on without me')
  const { interaction_id: unsent } = await (async () => {
    await lab.line.down()
    return alice.handlers.delegate({ to: bob.aid, task: 'made offline' }, never)
  })()
  const file = join(lab.folder, 'week.bin')
  writeFileSync(file, randomBytes(300_000))
  for (const text of said('alice')) await say(alice, id, text, text.endsWith('2') ? [file] : undefined)
  for (const text of said('bob')) await say(bob, id, text)
  await Promise.all([alice.stop(), bob.stop()])
  lab.hub.clock.advance(7 * DAY_MS)
  ;[alice, bob] = [await lab.start('alice'), await lab.start('bob')]
  await lab.line.up()
  alice.wake()
  bob.wake()
  await all(alice, id)
  await all(bob, id)
  await until('the task made offline arrives', async () => (await inboxIds(bob)).includes(unsent))
  const got = (await thread(bob, id)).turns.flatMap(turn => turn.attachments)
  expect(readFileSync(got[0]?.path ?? '')).toEqual(readFileSync(file))
  await finished(alice, bob, id)
})

test('one side is off for a week while the other writes: all of it waits at the hub', async () => {
  const id = await delegated(alice, bob, 'leave it in my box')
  await bob.stop()
  for (const text of said('alice')) await say(alice, id, text)
  await until('all of it lies at the hub', async () =>
    (await thread(alice, id)).turns.slice(1).every(turn => turn.delivery?.state === 'at_hub'),
  )
  lab.hub.clock.advance(7 * DAY_MS)
  await say(alice, id, 'are you there?')
  await until('the sender is told that nobody is there', async () => {
    const last = (await thread(alice, id)).turns.at(-1)?.delivery
    return last?.state === 'at_hub' && last.reason?.startsWith('the recipient has collected no mail')
  })
  bob = await lab.start('bob')
  await until('bob has it', async () => ofSide(await texts(bob, id), 'alice').length >= 3)
  for (const text of said('bob')) await say(bob, id, text)
  await all(alice, id)
  await all(bob, id)
  await until('every word of alice is known to be there', async () =>
    (await thread(alice, id)).turns
      .filter(turn => turn.mine)
      .every(turn => turn.delivery?.state === 'delivered'),
  )
})
