/** A task that is given once more brings what was said in it and each file that its document names. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { TestWorld } from '../testing/node.ts'
import { taskAsGiven } from './as-given.ts'

test('its words, its document, and the files with their names and bytes', async () => {
  await using world = new TestWorld()
  const { alice, bob } = await world.pair()
  const folder = mkdtempSync(join(tmpdir(), 'svc-as-given-'))
  const attach = ['one.txt', 'two.txt'].map(name => {
    writeFileSync(join(folder, name), name)
    return join(folder, name)
  })
  const id = alice.tasks.delegation.delegate({ to: bob.aid, task: 'count', attach })
  const given = taskAsGiven(alice.ctx.threads, alice.thread(id))
  expect(given).toMatchObject({ peer: bob.aid, text: 'count', capability: null })
  expect(given.attachments.map(({ name }) => name)).toEqual(['one.txt', 'two.txt'])
})

test('what begins with no delegation is no task', async () => {
  await using world = new TestWorld()
  const { bob, id } = await world.conversation()
  expect(() => taskAsGiven(bob.ctx.threads, bob.thread(id))).toThrow('no delegation')
})
