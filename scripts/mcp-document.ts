/** What docs/mcp.md has from the code: the tools from their rows, and the states of tasks and messages. */

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { tools } from '../mcp/tools/all.ts'
import type { Delivery, InteractionState } from '../protocol/control/shapes.ts'

const path = fileURLToPath(new URL('../docs/mcp.md', import.meta.url))

/** The document with its tables as the code has them; the rest of it is written by hand. */
export function mcpDocument(): string {
  return between(
    '<!-- states -->',
    states(),
    between('<!-- tools -->', sections(), readFileSync(path, 'utf8')),
  )
}

function between(mark: string, printed: string, text: string): string {
  const [before, , after] = text.split(mark)
  return [before, `\n${printed}\n`, after].join(mark)
}

const STATES: Readonly<Record<InteractionState, string>> = {
  queued: 'sent tasks: no proof yet that it arrived (above)',
  delivered: 'sent tasks: it arrived, and nobody answered yet',
  pending: 'received tasks of strangers: a person approves or declines it',
  open: 'both sides may write',
  end_proposed: 'one side proposed the end, the other accepts it with task_end',
  ended: 'both ended it; the receipt is there, or follows',
  declined: 'the side that was asked does not do it',
  cancelled: 'the side that asked withdrew it',
  failed: 'it could not be delivered',
  expired: 'nobody answered in time, or it is not known to have arrived; a late answer is still taken',
}

const DELIVERIES: Readonly<Record<Delivery['state'], string>> = {
  queued: 'still on this machine',
  at_hub: 'the hub has it; whether the other side does is not known yet',
  delivered: 'the other side proved that it stored it',
  failed: 'refused for good; the reason stands behind it in brackets',
  unknown: 'not proven to have arrived by its deadline',
}

const states = (): string =>
  [
    ...stateRows('`state` of a task', STATES),
    ...stateRows('`delivery` of the newest own message', DELIVERIES),
  ].join('\n')

const stateRows = (title: string, says: Readonly<Record<string, string>>): string[] => [
  '',
  `| ${title} | |`,
  '|---|---|',
  ...Object.entries(says).map(([state, words]) => `| \`${state}\` | ${cell(words)} |`),
  '',
]

const sections = (): string => [...tools.flatMap(section), ''].join('\n')

/** One tool: its description as the model gets it, its arguments, the members of its result. */
function section({ name, description, input, output, annotations }: (typeof tools)[number]): string[] {
  const given = Object.entries(input.shape).map(([argument, shape]) => {
    const isNeeded = !shape.safeParse(undefined).success
    return `| \`${argument}\`${isNeeded ? ' (needed)' : ''} | ${cell(shape.description ?? '')} |`
  })
  const kind = annotations.readOnlyHint ? 'Reads' : 'Sends'
  return [
    '',
    `### \`${name}\``,
    '',
    `${kind}. Its description: “${cell(description)}”`,
    '',
    ...(given.length > 0 ? ['| Argument | |', '|---|---|', ...given, ''] : []),
    `Result: ${output.map(member => `\`${member}\``).join(', ')}.`,
  ]
}

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
