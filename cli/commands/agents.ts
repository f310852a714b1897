/** `svc autoreply`: show, set, off, test. */

import { resolve } from 'node:path'
import { present } from '../../protocol/encoding/present.ts'
import { connect } from '../client/control.ts'
import type { Input, Run } from '../command.ts'
import { CommandFailed, type Io, printReply } from '../io.ts'
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
  if (input.flags.has('--attack')) return attack(io, input)
  printReply(io, await connect(io, input).call('autoReplyTest', present({ question })))
  return 0
}

async function attack(io: Io, input: Input): Promise<number> {
  if (input.positionals[0] !== undefined)
    throw new CommandFailed('--attack takes no question', 'svc autoreply test --attack', 2)
  const found = await connect(io, input).call('autoReplyAttack', {})
  printReply(io, found)
  if (found.leaks.length === 0) return 0
  throw new CommandFailed(
    `${found.agent} ${found.version} leaks: ${found.leaks.join('; ')}`,
    'svc autoreply off\nor take another agent:\nsvc autoreply set --agent <tool>',
  )
}

export const set: Run = async (io, input) => {
  const prompt = flags(input, '--system-prompt')[0]
  const workDir = flags(input, '--work-dir')[0]
  const extra = flags(input, '--extra-arg')
  const tools = flags(input, '--tools')[0] as 'none' | 'read' | 'write' | undefined
  const backend = flags(input, '--backend')[0] as 'exec' | 'openai' | undefined
  const reply = await connect(io, input).call('autoReplySet', {
    ...present({ backend }),
    ...flag(input, '--agent', 'agent'),
    ...flag(input, '--command', 'command'),
    ...present({ work_dir: workDir === undefined ? undefined : resolve(io.cwd, workDir) }),
    ...flag(input, '--openclaw-agent', 'openclaw_agent'),
    ...flag(input, '--model', 'model'),
    ...flag(input, '--provider-url', 'provider_url'),
    ...flag(input, '--provider-key-env', 'provider_key_env'),
    ...present({ extra_args: extra.length === 0 ? undefined : [...extra] }),
    ...boolean(input, '--sandbox', 'sandbox'),
    ...present({ unsafe: input.flags.has('--unsafe') ? true : undefined }),
    ...present({ sandbox: input.flags.has('--no-sandbox') ? false : undefined }),
    ...flag(input, '--api-base', 'api_base'),
    ...flag(input, '--api-key', 'api_key'),
    ...present({
      system_prompt: prompt === undefined ? undefined : textOrFile(io, prompt, '--system-prompt'),
    }),
    ...boolean(input, '--require-image', 'require_image'),
    ...flag(input, '--usage-hint', 'usage_hint'),
    ...flag(input, '--error-reply', 'error_reply'),
    ...integer(input, '--poll-interval', 'poll_interval_seconds'),
    ...integer(input, '--max-history', 'max_history'),
    ...integer(input, '--api-timeout', 'api_timeout_seconds'),
    ...integer(input, '--max-auto-replies', 'max_auto_replies'),
    ...boolean(input, '--strangers', 'strangers'),
    ...present({ tools }),
  })
  printReply(io, reply)
  return 0
}
