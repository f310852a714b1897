/** The terminal inbox as people use it: two of them, each on a terminal, over a hub. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasTmux, PROMPT, type Terminal, Tmux, withTmux } from './tmux.ts'
import { openInbox, openPair, type Pair } from './world.ts'

describe.skipIf(!hasTmux)(`the inbox on a terminal${withTmux}`, () => {
  let tmux: Tmux
  let pair: Pair
  let alice: Terminal
  let bob: Terminal

  beforeAll(async () => {
    tmux = new Tmux()
    pair = await openPair()
    alice = await openInbox(tmux, pair.world, 'alice')
    bob = await openInbox(tmux, pair.world, 'bob')
  })
  afterAll(async () => {
    tmux?.close()
    await pair?.world[Symbol.asyncDispose]()
  })

  test('an empty one says how others reach this node', async () => {
    const screen = await bob.sees('no tasks yet')
    expect(screen.replace(/\s+/g, '')).toContain(pair.aids.bob)
  })

  test('an agent is searched, handed a task, and its approval, answer and end are seen as they come', async () => {
    alice.press('3')
    await alice.sees('bob')
    alice.press('d').type('Please count to 三').press('C-j').type('and say so')
    await alice.sees('› and say so')
    alice.press('Enter')
    await alice.sees('delegated')
    alice.press('2')
    await alice.sees(/at the hub|delivered/)

    await bob.sees('asks you')
    await bob.sees('Please count to 三')
    bob.press('a')
    const question = await bob.sees('Take this task of a stranger')
    expect(question).toContain(pair.aids.alice)
    // neither the key that asked nor enter is a yes
    bob.press('a', 'Enter')
    expect(bob.screen).toContain('Take this task of a stranger')
    bob.press('y')
    await bob.sees('running')
    bob.press('Enter')
    await bob.sees('and say so')
    const family = '\u{1f469}\u200d\u{1f469}\u200d\u{1f467}'
    bob.press('r').type(`一, 二, 三 ${family}`).press('Enter')
    await bob.sees('sent')

    await alice.sees('一, 二, 三')
    // what arrives is what was typed, also what a terminal does not show
    const { items } = (await pair.world.svc('bob', 'inbox')) as { items: { interaction_id: string }[] }
    const { turns } = await pair.world.svc('alice', 'thread', items[0]?.interaction_id ?? '')
    expect(turns).toContainEqual(expect.objectContaining({ text: `一, 二, 三 ${family}` }))
    alice.press('Enter')
    await alice.sees('sealed · signed by')
    alice.press('e')
    await alice.sees('End this task')
    alice.press('y')
    await bob.sees('proposes to end')
    bob.press('A')
    await bob.sees('is over?')
    bob.press('y')
    await alice.sees('receipt verified')
    alice.press('v')
    await alice.sees(/valid: /)
    alice.press('Escape', 'q')
    await alice.sees(PROMPT)
  })

  test('the first stranger, delegation and receipt are explained in one line each, once', async () => {
    const { world } = pair
    const [requester, provider] = [await ownNode('first'), await ownNode('second')]
    try {
      const open = async (env: Record<string, string>) => {
        const terminal = tmux.open(env)
        terminal.type(`${world.node} ${world.programs.svc} tui`).press('Enter')
        await terminal.sees('● online')
        return terminal
      }
      const [from, to] = [await open(requester.env), await open(provider.env)]
      const id = String((await requester.svc('delegate', provider.aid, 'a first task'))['interaction_id'])
      await from.sees('your first task: sealed, sent by itself')
      await to.sees('a stranger asks: nothing runs and nobody answers')
      await provider.svc('approve', id)
      await provider.svc('message', id, 'done')
      await provider.svc('end', id)
      from.press('2')
      await from.sees('done')
      await requester.svc('accept-end', id)
      await from.sees('your first receipt: signed by both sides')
      from.press('q')
      await from.sees(PROMPT)
      const again = await open(requester.env)
      again.press('2')
      await again.sees('a first task')
      for (const said of ['your first task', 'your first receipt']) expect(again.screen).not.toContain(said)
      again.press('q')
      to.press('q')
    } finally {
      // the directory is that of the pair again
      for (const node of [requester, provider]) {
        await node.svc('hub-leave')
        await node.svc('stop')
      }
    }
  })

  /** A node of its own home at the hub of the pair. */
  async function ownNode(name: string) {
    const { world } = pair
    const home = world.dir(name)
    mkdirSync(home, { mode: 0o700 })
    const env = { ...world.env('bob'), SVC_HOME: home }
    const svc = async (...words: string[]) => {
      const { code, stdout, stderr } = await world.run(world.programs.svc, words, env)
      expect([code, stderr.replace(/.*made a new identity.*\n/, '')]).toEqual([0, ''])
      return JSON.parse(stdout) as Record<string, unknown>
    }
    const aid = String((await svc('up'))['aid'])
    await world.hub('admit', aid)
    const { hub_url: url } = (await world.svc('bob', 'status')) as { hub_url: string }
    await svc('hub-register', url, '--name', name)
    return { env, aid, svc }
  }

  test('a draft is kept over a quit, and an editor writes the rest', async () => {
    const editor = pair.world.dir('editor.sh')
    writeFileSync(editor, '#!/bin/sh\nprintf " from the editor\\nsecond line" >> "$1"\n')
    chmodSync(editor, 0o700)
    const first = await openInbox(tmux, pair.world, 'alice', { env: { EDITOR: editor } })
    first.press('2')
    await first.sees('ended')
    first.press('d').type('half a thought')
    await first.sees('› half a thought')
    first.press('Escape')
    await first.sees('the draft is kept')
    first.press('q')
    await first.sees(PROMPT)
    first.type(`${pair.world.node} ${pair.world.programs.svc} tui`).press('Enter')
    await first.sees('● online')
    first.press('3')
    await first.sees('draft')
    first.press('d')
    await first.sees('› half a thought')
    first.press('C-e')
    await first.sees('› half a thought from the editor')
    await first.sees('› second line')
    first.press('Escape')
    await first.sees('the draft is kept')
    first.press('q')
  })

  test('a command runs behind a colon, completed from the table of commands', async () => {
    bob.press('Escape', ':').type('contact a').press('Tab')
    await bob.sees(':contact add')
    bob.type(`${pair.aids.alice} alice`).press('Enter')
    await bob.sees('petname')
    bob.press('Escape')
    await bob.sees(/ from alice|alice .*ended/)
  })

  test('a node without a hub is offered the three ways on, once', async () => {
    const home = pair.world.dir('ways')
    mkdirSync(home, { mode: 0o700 })
    const env = { ...pair.world.env('bob'), SVC_HOME: home }
    const open = (terminal: Terminal) =>
      terminal.type(`${pair.world.node} ${pair.world.programs.svc} tui`).press('Enter')
    const terminal = tmux.open(env)
    try {
      open(terminal)
      await terminal.sees('no node')
      terminal.press('U')
      // it comes by itself once the node is there
      const screen = await terminal.sees('This node has no hub yet')
      expect(screen).toMatch(/host a hub[\s\S]*see a demo/)
      // Ctrl-C ends the demo and nothing else
      terminal.press('d')
      await terminal.sees('a hub of our own, closed')
      terminal.press('C-c')
      await terminal.sees('join a hub')
      terminal.press(':').type('version').press('Enter')
      await terminal.sees('svc version')
      terminal.press('Escape')
      await terminal.sees('no tasks yet')
      terminal.press('q')
      await terminal.until(screen => /shell>\s*$/.test(screen), 'the shell')
      open(terminal)
      await terminal.sees('no tasks yet')
    } finally {
      await pair.world.run(pair.world.programs.svc, ['stop'], env)
    }
  })

  test('a node that stops is said and found again', async () => {
    await pair.world.svc('bob', 'stop')
    await bob.sees('the node was stopped')
    bob.press('U')
    await bob.sees('● online')
  })
})
