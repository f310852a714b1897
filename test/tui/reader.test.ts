/** A whole story by what is read out alone: a stranger is approved and answered; a task is handed out, ended and rated. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasTmux, PROMPT, type Terminal, Tmux, withTmux } from './tmux.ts'
import { openPair, type Pair } from './world.ts'

describe.skipIf(!hasTmux)(`the inbox for a screen reader${withTmux}`, () => {
  let tmux: Tmux
  let pair: Pair
  let alice: Terminal
  let bob: Terminal

  beforeAll(async () => {
    tmux = new Tmux()
    pair = await openPair()
    const open = (name: 'alice' | 'bob') => {
      const terminal = tmux.open(pair.world.env(name), { columns: 100, rows: 50 })
      terminal.type(`${pair.world.node} ${pair.world.programs.svc} tui --screen-reader`).press('Enter')
      return terminal
    }
    alice = open('alice')
    bob = open('bob')
  })
  afterAll(async () => {
    tmux?.close()
    await pair?.world[Symbol.asyncDispose]()
  })

  test('says how the node stands, where one is, and what helps', async () => {
    await bob.sees('bob: hub online')
    await bob.sees('Tasks to me')
    bob.press('?')
    await bob.sees('Help. bob')
    bob.press('Escape')
    await bob.sees('Tasks to me')
  })

  test('an agent is found and handed a task', async () => {
    alice.press('3')
    await alice.sees(/bob, no contact, seen/)
    alice.press('d')
    await alice.sees('New task for bob')
    alice.type('count to three')
    await alice.sees('Writing: count to three')
    alice.press('Enter')
    await alice.sees('delegated')
    alice.press('2')
    await alice.sees(/Tasks from me, row 1 of 1/)
  })

  test('a stranger is approved and answered', async () => {
    await bob.sees(/asks you/)
    bob.press('a')
    await bob.sees('Press y for yes')
    bob.press('y')
    await bob.sees(/running/)
    bob.press('Enter')
    await bob.sees('count to three')
    bob.press('r')
    await bob.sees('Reply to')
    bob.type('one two three').press('Enter')
    await bob.sees('sent')
    bob.press('e')
    await bob.sees('End this task')
    bob.press('y')
    await bob.sees('asked to end')
  })

  test('the end is agreed to, and the work rated', async () => {
    await alice.sees('end proposed')
    alice.press('Enter')
    await alice.sees('one two three')
    alice.press('A')
    await alice.sees('is over?')
    alice.press('y')
    await alice.sees('receipt verified')
    alice.press('*')
    await alice.sees('rating 1-5')
    alice.type('5 quick').press('Enter')
    await alice.sees('rated 5 of 5')
    alice.press('Escape')
    await alice.sees(/Tasks from me, row 1 of 1/)
  })

  test('shows no frame and counts nothing', async () => {
    expect(bob.screen + alice.screen).not.toMatch(/[│▌─●○✓⏎]/)
    const before = bob.bytes.length
    await new Promise(resolve => setTimeout(resolve, 3_000))
    expect(bob.bytes.length).toBe(before)
    for (const terminal of [alice, bob]) {
      terminal.press('Escape', 'q')
      await terminal.sees(PROMPT)
    }
  })
})
