/** The node is run from the terminal: what can be set, and several tasks at once. */
import { mkdirSync, readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasTmux, type Terminal, Tmux, withTmux } from './tmux.ts'
import { openInbox, openPair, type Pair } from './world.ts'

describe.skipIf(!hasTmux)(`a node is run from a terminal${withTmux}`, () => {
  let tmux: Tmux
  let pair: Pair
  let bob: Terminal
  beforeAll(async () => {
    tmux = new Tmux()
    pair = await openPair()
    bob = await openInbox(tmux, pair.world, 'bob', { size: { columns: 100, rows: 40 } })
    bob.press('5')
    await bob.sees('what can be set')
  })
  afterAll(async () => {
    tmux?.close()
    await pair?.world[Symbol.asyncDispose]()
  })

  /** Selects a setting by a click, and opens it. */
  async function open(heading: string): Promise<void> {
    bob.click(heading)
    bob.press('Enter')
  }

  test('limits of what is spent are asked one after the other, set, and undone', async () => {
    // before the node has said what it holds, nothing of that is asked
    await bob.sees('without asking nothing')
    await open('Spend without asking me')
    await bob.sees('One payment of the node')
    for (const amount of ['3', '4', '20', '10']) bob.press('C-u').type(amount).press('Enter')
    await bob.sees('Let up to 20 credits a day go without asking you?')
    bob.press('y')
    await bob.sees('u undoes it')
    const spend = () => pair.world.svc('bob', 'spend')
    expect(await spend()).toMatchObject({ auto_max: 3, agent_max: 4, day_max: 20, payee_day_max: 10 })
    bob.press('u')
    await bob.sees('nothing is paid without asking you')
    expect(await spend()).toMatchObject({ auto_max: 0, day_max: 0 })
  })

  test('a contact is added and renamed', async () => {
    await open('Add a contact')
    await bob.sees('44 characters')
    bob.type(pair.aids.alice).press('Enter').type('alice').press('Enter')
    await bob.sees('alice is a contact now')
    await bob.until(screen => !/Rename a contact\s+you have/.test(screen), 'a contact to rename')
    await open('Rename a contact')
    await bob.sees('● alice')
    bob.press('Enter', 'C-u').type('alice-of-the-hub').press('Enter')
    await bob.sees('it is called alice-of-the-hub now')
  })

  test('a backup is written with a passphrase that no screen shows', async () => {
    mkdirSync(pair.world.dir('copies'))
    await open('Back up')
    await bob.sees('Passphrase')
    for (let n = 0; n < 2; n += 1) bob.type('twelve and more').press('Enter')
    await bob.sees('Folder of the machine')
    expect(bob.screen).not.toContain('twelve')
    bob.type(pair.world.dir('copies')).press('Enter')
    await bob.sees('is written, ')
    expect(readdirSync(pair.world.dir('copies'))).toHaveLength(1)
    expect(bob.bytes).not.toContain('twelve and more')
  })

  test('the key is changed after a question that says what it means', async () => {
    await open('Change the key')
    bob.press('Enter')
    const question = await bob.sees('Change the key of this identity?')
    expect(question.replace(/\s+/g, ' ')).toContain('this cannot be taken back')
    bob.press('y')
    await bob.sees(/key \d+ signs from now on/)
  })

  test('tasks that are marked are approved with one question, and one that is over is taken out of the list', async () => {
    for (const words of ['the first', 'the second'])
      await pair.world.svc('alice', 'delegate', pair.aids.bob, words)
    bob.press('1')
    await bob.sees('the second')
    await pair.world.svc('bob', 'contact', 'rm', pair.aids.alice)
    await pair.world.svc('alice', 'delegate', pair.aids.bob, 'as a stranger')
    await pair.world.svc('alice', 'delegate', pair.aids.bob, 'as a stranger again')
    await bob.until(screen => (screen.match(/asks you/g)?.length ?? 0) >= 2, 'two that ask')
    bob.press('p')
    await bob.sees('2 rows')
    bob.press('g', 'x', 'x')
    await bob.sees('2 marked')
    bob.press('a')
    await bob.sees('Approve 2 tasks?')
    bob.press('y')
    await bob.sees('2 tasks approved')
    bob.press('p')
    await bob.sees('the first')
    bob.press('G', 'z')
    await bob.sees('1 task archived; u undoes it')
    bob.press('Z')
    await bob.sees('only what was archived')
    bob.press('Z', 'q')
  })
})
