/** `svc tui`: the inbox in a terminal. Ink and React are loaded here and nowhere else. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { draftsIn } from '../../daemon/home/drafts.ts'
import { connect } from '../client/control.ts'
import type { Run } from '../command.ts'
import { CommandFailed } from '../io.ts'
import { nodeClientOf } from '../screen/node-client.ts'
import { notesIn } from '../screen/notes.ts'
import {
  completionsOf,
  edited,
  fileAt,
  finalOf,
  isStep,
  pathOf,
  pathsFrom,
  runDemo,
  runLine,
} from '../screen/shell.ts'

export const tui: Run = async (io, input, { commands }) => {
  if (process.stdout.isTTY !== true || process.stdin.isTTY !== true)
    throw new CommandFailed('the inbox needs a terminal', 'svc inbox')
  const { dataDir, entry } = connect(io, input).target
  const { openInbox } = await import('../../tui/main.tsx')
  const host = {
    node: nodeClientOf(io, input),
    isNew: entry === undefined && !existsSync(join(dataDir, 'identity.kel')),
    now: io.now,
    env: io.env,
    drafts: draftsIn(dataDir),
    notes: notesIn(dataDir),
    command: (line: string, said: (text: string) => void, signal: AbortSignal) =>
      runLine(io, dataDir, line, { said, signal }),
    finalOf: (line: string) => finalOf(commands, line),
    isStep: (line: string) => isStep(commands, line),
    completions: (line: string) => completionsOf(commands, line),
    paths: (begun: string) => pathsFrom(io, begun),
    file: (path: string) => fileAt(io, path),
    folder: (path: string) => pathOf(io, path),
    asCalled: (text: string) => io.asCalled(text),
    async startNode() {
      let text = ''
      const said = (part: string) => {
        text += part
      }
      const code = await runLine(io, dataDir, 'up', { said, signal: new AbortController().signal })
      if (code !== 0) throw new CommandFailed(text.trim().split('\n')[0] ?? 'the node did not start')
    },
    demo: () => runDemo(io),
    edit: (text: string) => edited(io, text),
  }
  const isReader = input.flags.has('--screen-reader') || io.env['INK_SCREEN_READER'] === 'true'
  await openInbox(host, {
    isReader,
    hasMouse: !isReader && !input.flags.has('--no-mouse'),
    isStill: input.flags.has('--reduced-motion'),
  })
  return 0
}
