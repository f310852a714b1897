/** `svc demo --tui`: the inboxes of both sides beside each other in tmux, so that a task is seen to go over. */
import { spawn, spawnSync } from 'node:child_process'
import { shellWord } from '../../protocol/shell.ts'
import { CommandFailed } from '../io.ts'
import type { World } from './world.ts'

const KEYS =
  'left alice, right bob (click, or ctrl-b and an arrow)  3 d: alice hands bob a task  q in both: end'

/** Refuses before anything is started. */
export function requireTmux(isOnTerminal: boolean): void {
  if (!isOnTerminal) throw new CommandFailed('--tui needs a terminal', 'svc demo')
  if (spawnSync('tmux', ['-V']).status !== 0)
    throw new CommandFailed('--tui needs tmux, which is not installed', 'svc demo')
}

/** Runs until both inboxes are closed. */
export async function openBoth(world: World, signal: AbortSignal): Promise<void> {
  const socket = world.dir('tmux')
  // also where this runs in a terminal of another tmux
  const { TMUX: _outer, ...outside } = process.env
  const env = { ...outside, ...world.env('alice') }
  const tmux = (...words: string[]) => {
    const ran = spawnSync('tmux', ['-S', socket, '-f', '/dev/null', ...words], { env, encoding: 'utf8' })
    if (ran.status !== 0) throw new Error(`tmux ${words[0]}: ${ran.stderr.trim()}`)
    return ran.stdout
  }
  const inbox = (name: 'alice' | 'bob') => {
    const given = Object.entries(world.env(name)).map(([key, value]) => `${key}=${shellWord(value)}`)
    return `env ${given.join(' ')} ${shellWord(world.node)} ${shellWord(world.programs.svc)} tui`
  }
  const { columns = 160, rows = 40 } = process.stdout
  tmux('new-session', '-d', '-s', 'demo', '-x', String(columns), '-y', String(rows), inbox('alice'))
  for (const [option, value] of [
    ['mouse', 'on'],
    ['status-left', ''],
    ['status-right-length', '200'],
    ['status-right', KEYS],
    ['window-status-format', ''],
    ['window-status-current-format', ''],
    ['status-style', 'reverse'],
  ] as const)
    tmux('set-option', '-g', option, value)
  tmux('split-window', '-h', '-t', 'demo', inbox('bob'))
  tmux('select-pane', '-L', '-t', 'demo')
  // what the inboxes draw is UTF-8, whatever the locale says
  const attached = spawn('tmux', ['-u', '-S', socket, 'attach-session', '-t', 'demo'], {
    env,
    stdio: 'inherit',
  })
  const inboxes = tmux('list-panes', '-a', '-F', '#{pane_pid}').trim().split('\n').map(Number)
  const server = Number(tmux('display-message', '-p', '-t', 'demo', '#{pid}').trim())
  const end = () => {
    spawnSync('tmux', ['-S', socket, 'kill-server'])
    // one that still writes to a terminal that nobody reads hears no other signal
    for (const pid of [...inboxes, server]) kill(pid)
  }
  signal.addEventListener('abort', end)
  await new Promise<void>((done, failed) => {
    attached.on('error', failed)
    attached.on('close', () => done())
  })
  signal.removeEventListener('abort', end)
  end()
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it has ended
  }
}
