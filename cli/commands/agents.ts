/** `svc autoreply`: show, set, off, test. */
import { statSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { isFileName, splitWords } from '../../autoreply/program.ts'
import type { AutoReplyConfig } from '../../protocol/control/auto-reply-config.ts'
import { present } from '../../protocol/encoding/present.ts'
import { connect } from '../client/control.ts'
import type { Input, Run } from '../command.ts'
import { CommandFailed, type Io, printReply, UsageRefused } from '../io.ts'
import { boolean, flag, flags, integer, textOrFile } from './values.ts'

export const show: Run = async (io, input) => {
  printReply(io, await connect(io, input).call('autoReplyShow'))
  return 0
}

export const off: Run = async (io, input) => {
  printReply(io, await connect(io, input).call('autoReplyOff', {}))
  return 0
}

export const test: Run = async (io, input) => {
  const question = input.positionals[0]
  const given = backendOf(io, input)
  const settings = Object.keys(given).length === 0 ? undefined : given
  if (input.flags.has('--attack')) return attack(io, input, settings)
  printReply(io, await connect(io, input).call('autoReplyTest', present({ question, settings })))
  return 0
}

async function attack(io: Io, input: Input, settings: Backend | undefined): Promise<number> {
  if (input.positionals[0] !== undefined)
    throw new CommandFailed('--attack takes no question', 'svc autoreply test --attack', 2)
  const found = await connect(io, input).call('autoReplyAttack', present({ settings }))
  printReply(io, found)
  if (found.leaks.length === 0) return 0
  throw new CommandFailed(
    `${found.agent} ${found.version} leaks: ${found.leaks.join('; ')}`,
    'svc autoreply off\nor take another agent:\nsvc autoreply set --agent <tool>',
  )
}

export const set: Run = async (io, input) => {
  const backend = backendOf(io, input)
  const reply = await connect(io, input).call('autoReplySet', {
    ...backend,
    ...present({ unsafe: input.flags.has('--unsafe') ? true : undefined }),
    ...boolean(input, '--require-image', 'require_image'),
    ...flag(input, '--usage-hint', 'usage_hint'),
    ...flag(input, '--error-reply', 'error_reply'),
    ...integer(input, '--poll-interval', 'poll_interval_seconds'),
    ...integer(input, '--max-history', 'max_history'),
    ...integer(input, '--max-auto-replies', 'max_auto_replies'),
    ...boolean(input, '--send-files', 'send_files'),
    ...boolean(input, '--strangers', 'strangers'),
    ...boolean(input, '--guests', 'guests'),
  })
  printReply(io, reply)
  return 0
}

type Backend = Partial<AutoReplyConfig>

/** The flags that say what answers, and how it is asked. */
function backendOf(io: Io, input: Input): Backend {
  const prompt = flags(input, '--system-prompt')[0]
  const workDir = flags(input, '--work-dir')[0]
  const extra = flags(input, '--extra-arg')
  const command = flags(input, '--command')[0]
  if (command !== undefined) requireFoundFiles(io, command)
  return {
    ...present({ backend: flags(input, '--backend')[0] as Backend['backend'] }),
    ...flag(input, '--agent', 'agent'),
    ...present({ command }),
    ...present({ work_dir: workDir === undefined ? undefined : resolve(io.cwd, workDir) }),
    ...flag(input, '--openclaw-agent', 'openclaw_agent'),
    ...flag(input, '--model', 'model'),
    ...flag(input, '--provider-url', 'provider_url'),
    ...flag(input, '--provider-key-env', 'provider_key_env'),
    ...present({ extra_args: extra.length === 0 ? undefined : [...extra] }),
    ...boolean(input, '--sandbox', 'sandbox'),
    ...present({ sandbox: input.flags.has('--no-sandbox') ? false : undefined }),
    ...flag(input, '--api-base', 'api_base'),
    ...flag(input, '--api-key', 'api_key'),
    ...present({
      system_prompt: prompt === undefined ? undefined : textOrFile(io, prompt, '--system-prompt'),
    }),
    ...integer(input, '--api-timeout', 'api_timeout_seconds'),
    ...present({ tools: flags(input, '--tools')[0] as Backend['tools'] }),
  }
}

/** The program runs in an empty folder of its own, where a file of this one is not found. */
function requireFoundFiles(io: Io, command: string): void {
  const words = asWords(() => splitWords(command))
  const relative = words.find(word => isFileName(word) && !isAbsolute(word) && isFile(resolve(io.cwd, word)))
  if (relative === undefined) return
  const path = resolve(io.cwd, relative)
  throw new UsageRefused(
    `--command: ${relative} is a relative path, and the program runs in an empty folder of its own; write ${path}`,
  )
}

/** A line that cannot be read is refused by the node, with its reason. */
function asWords(split: () => string[]): string[] {
  try {
    return split()
  } catch {
    return []
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}
