/** Two nodes at a hub, both without auto-reply, and the inbox of each on a terminal. */
import { join } from 'node:path'
import { World } from '../../cli/demo/world.ts'
import type { Size, Terminal, Tmux } from './tmux.ts'

const root = new URL('../..', import.meta.url).pathname
export const programs = { svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') }

export type Pair = { world: World; aids: { alice: string; bob: string } }

/** Neither knows the other. */
export async function openPair(): Promise<Pair> {
  const world = new World(programs)
  const { url } = await world.startHub()
  const [alice, bob] = await Promise.all([world.startNode('alice'), world.startNode('bob')])
  const aids = { alice: String(alice['aid']), bob: String(bob['aid']) }
  for (const name of ['alice', 'bob'] as const) {
    await world.hub('admit', aids[name])
    await world.svc(name, 'hub-register', url, '--name', name)
  }
  return { world, aids }
}

/** The inbox of a node in a shell, once it is live. */
export async function openInbox(
  tmux: Tmux,
  world: World,
  name: 'alice' | 'bob',
  { size, env = {}, flags = [] }: { size?: Size; env?: Record<string, string>; flags?: string[] } = {},
): Promise<Terminal> {
  const terminal = tmux.open({ ...world.env(name), ...env }, size)
  // tmux sets its own for the shell
  const term = env['TERM'] === undefined ? '' : `TERM=${env['TERM']} `
  terminal.type([`${term}${world.node}`, world.programs.svc, 'tui', ...flags].join(' ')).press('Enter')
  await terminal.sees(/[●*] online/)
  return terminal
}
