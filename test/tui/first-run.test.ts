/** The first minutes: an empty home, no node, and from there to a first receipt without a command line. */
import { mkdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { World } from '../../cli/demo/world.ts'
import { hasTmux, PROMPT, type Terminal, Tmux, withTmux } from './tmux.ts'
import { programs } from './world.ts'

/** The proof of work takes as long as chance wants. */
const PROOF_WITHIN_MS = 120_000

describe.skipIf(!hasTmux)(`a first run${withTmux}`, () => {
  let tmux: Tmux
  let world: World
  let url: string
  beforeAll(async () => {
    tmux = new Tmux()
    world = new World(programs)
    url = (await world.startHub()).url
    await world.hub('admission', 'open')
  })
  afterAll(async () => {
    tmux?.close()
    await world?.[Symbol.asyncDispose]()
  })

  /** A shell with an empty home of its own, and the inbox opened in it. */
  function newcomer(name: string): { terminal: Terminal; env: Record<string, string> } {
    const home = world.dir(name)
    mkdirSync(home, { mode: 0o700 })
    const env = { ...world.env('bob'), SVC_HOME: home }
    const terminal = tmux.open(env)
    terminal.type(`${world.node} ${world.programs.svc} tui`).press('Enter')
    return { terminal, env }
  }
  const stop = (env: Record<string, string>) => world.run(world.programs.svc, ['stop'], env)

  test('shows ways on and no error; joining a hub starts the node, and leads to the first receipt', async () => {
    const [one, other] = [newcomer('one'), newcomer('other')]
    try {
      for (const [{ terminal }, name] of [
        [one, 'one'],
        [other, 'other'],
      ] as const) {
        const screen = await terminal.sees('start your node')
        expect(screen).not.toMatch(/✗|no identity/)
        terminal.press('j')
        await terminal.sees('address of the hub')
        terminal.type(url).press('Enter')
        await terminal.sees('your name there')
        terminal.type(name).press('Enter')
        await terminal.sees('you are at the hub', PROOF_WITHIN_MS)
        await terminal.sees('● online')
      }
      one.terminal.press('R', 's', 'Enter')
      await one.terminal.sees(/^ +other /m)
      one.terminal.press('d').type('count to three').press('Enter')
      await one.terminal.sees('delegated')
      other.terminal.press('1')
      await other.terminal.sees('asks you')
      other.terminal.press('a')
      await other.terminal.sees('Take this task of a stranger')
      other.terminal.press('y')
      await other.terminal.sees('running')
      other.terminal.press('r').type('one two three').press('Enter')
      await other.terminal.sees('sent')
      other.terminal.press('e')
      await other.terminal.sees('End this task')
      other.terminal.press('y')
      one.terminal.press('2')
      await one.terminal.sees('end proposed')
      one.terminal.press('A')
      await one.terminal.sees('is over?')
      one.terminal.press('y')
      await one.terminal.sees('verified')
      for (const { terminal } of [one, other]) terminal.press('Escape', 'q')
    } finally {
      for (const { env } of [one, other]) await stop(env)
    }
  })

  test('starts a node alone, which is then offered the hub that was hosted meanwhile', async () => {
    const { terminal, env } = newcomer('host')
    try {
      await terminal.sees('start your node')
      terminal.press('s')
      await terminal.sees('This node has no hub yet')
      terminal.press('h')
      const page = await terminal.sees('svc-hub serve')
      expect(page).toMatch(/svc-hub admit A[\w-]{43}/)
      terminal.press('Escape')
      await terminal.sees('address of the hub (https://…): http://127.0.0.1:8088')
      terminal.press('C-u').type(url).press('Enter').type('host').press('Enter')
      await terminal.sees('you are at the hub')
      terminal.press('q')
      await terminal.sees(PROMPT)
    } finally {
      await stop(env)
    }
  })

  test('goes to the demo and back, and is calm where all of it is put off', async () => {
    const { terminal } = newcomer('later')
    await terminal.sees('start your node')
    terminal.press('d')
    await terminal.sees('a hub of our own, closed')
    terminal.press('C-c')
    await terminal.sees('start your node')
    terminal.press('Escape')
    const screen = await terminal.sees('there is no node here yet')
    expect(screen).not.toContain('✗')
    terminal.press('q')
    await terminal.sees(PROMPT)
  })
})
