/** `npm run -s captures`: the terminal inbox of a real node at three sizes, light and dark, into docs/pictures; looked at before a commit. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { settings } from '../view/settings.ts'
import { type Palette, palettes, pictureOf } from './tui/picture.ts'
import { type Size, type Terminal, Tmux } from './tui/tmux.ts'
import { openInbox, openPair } from './tui/world.ts'

const FOLDER = new URL('../docs/pictures/', import.meta.url).pathname
const sizes = {
  wide: { columns: 132, rows: 30 },
  narrow: { columns: 72, rows: 24 },
  smallest: { columns: 40, rows: 12 },
} as const
const tasks = [
  'Check the invoice of May against the order, and say what differs.',
  'Translate the README into French; keep code and names as they are.',
  'Write a test for the parser bug of issue 212.',
  'Summarise the attached report in three findings, and name the one you are least sure about.',
]

mkdirSync(FOLDER, { recursive: true })
const { world, aids } = await openPair()
const tmux = new Tmux()
try {
  await world.svc('bob', 'contact', 'add', aids.alice, 'alice')
  await world.svc('alice', 'contact', 'add', aids.bob, 'bob')
  const report = world.dir('report.md')
  writeFileSync(report, '# Report\n\nwords\n'.repeat(4_000))
  const ids: string[] = []
  for (const [n, task] of tasks.entries()) {
    const files = n === tasks.length - 1 ? ['--attach', report] : []
    ids.push(String((await world.svc('alice', 'delegate', 'bob', task, ...files))['interaction_id']))
  }
  await settled(ids)
  await world.svc('bob', 'message', ids[0] as string, 'Line 3 is billed twice; everything else agrees.')
  await world.svc('bob', 'end', ids[0] as string)
  await told(ids[0] as string)
  await world.svc('alice', 'accept-end', ids[0] as string)
  await world.svc(
    'bob',
    'message',
    ids[3] as string,
    'Three findings; I am least sure of the second. Shall I name the sources too?',
  )
  for (const [size, given] of Object.entries(sizes)) await capture(size, given)
} finally {
  tmux.close()
  await world[Symbol.asyncDispose]()
}

async function capture(size: string, given: Size): Promise<void> {
  const terminal = await openInbox(tmux, world, 'bob', { size: given })
  await terminal.sees(size === 'smallest' ? 'alice' : 'Summarise')
  terminal.press('g')
  if (size !== 'wide') terminal.press('Enter')
  await terminal.sees('sealed · signed by')
  save(terminal, `tui-${size}`, given, 'The terminal inbox: tasks, and the conversation of the selected one')
  terminal.press('Escape', '4')
  await terminal.sees('you signed a rece')
  save(terminal, `tui-evidence-${size}`, given, 'The terminal inbox: the evidence chain and its heads')
  terminal.press('5')
  await terminal.sees('what can be set')
  await terminal.until(screen => !screen.includes('you have no contacts'), 'the contacts')
  save(terminal, `tui-node-${size}`, given, 'The terminal inbox: the node, and what can be set')
  for (let n = settings.findIndex(({ id }) => id === 'spend'); n > 0; n -= 1) terminal.press('j')
  terminal.press('Enter')
  await terminal.sees('One payment of the node')
  save(terminal, `tui-setting-${size}`, given, 'The terminal inbox: a setting, asked field by field')
  terminal.press('Escape', 'q')
}

function save(terminal: Terminal, name: string, given: Size, title: string): void {
  for (const palette of Object.keys(palettes) as Palette[])
    writeFileSync(
      join(FOLDER, `${name}-${palette}.svg`),
      pictureOf({ screen: terminal.coloured, title }, given, palette),
    )
}

async function settled(ids: readonly string[]): Promise<void> {
  for (;;) {
    const { items } = (await world.svc('bob', 'inbox')) as { items: { interaction_id: string }[] }
    if (ids.every(id => items.some(item => item.interaction_id === id))) return
  }
}

/** The other side has proposed to end it. */
async function told(id: string): Promise<void> {
  for (;;) if ((await world.svc('alice', 'thread', id))['state'] === 'end_proposed') return
}
