/** Operations on automatic answers. */
import type { AutoReplyConfig } from '../../protocol/control/auto-reply-config.ts'
import type { Settings } from '../home/settings.ts'
import type { AutoReply } from '../tasks/auto-reply.ts'
import { READY_QUESTION } from '../tasks/own-questions.ts'
import { autoReplyView, chosen, orRefuse } from './auto-reply.ts'
import type { Handlers } from './handlers.ts'

type AutoReplyOperations = Pick<
  Handlers,
  | 'autoReplyShow'
  | 'autoReplySet'
  | 'autoReplyAgents'
  | 'autoReplyRuns'
  | 'autoReplyOff'
  | 'autoReplyTest'
  | 'autoReplyAttack'
>

export function autoReplyOperations(settings: Settings, autoReply: AutoReply): AutoReplyOperations {
  /** What a change would make of the settings, where one is to be tried. */
  const tried = (change: Parameters<typeof chosen>[1] | undefined): AutoReplyConfig | undefined =>
    change === undefined ? undefined : chosen(settings.current.auto_reply, change).config
  return {
    async autoReplyShow() {
      return autoReplyView(settings.current.auto_reply, autoReply.sandbox)
    },
    async autoReplySet({ unsafe = false, ...given }, signal) {
      const { config: auto_reply, resets } = chosen(settings.current.auto_reply, given)
      await orRefuse('bad_request', () => autoReply.check(auto_reply, given, { unsafe, signal }))
      const config = settings.change({ auto_reply })
      await autoReply.restart()
      return autoReplyView(config.auto_reply, autoReply.sandbox, resets)
    },
    async autoReplyAgents() {
      return { agents: autoReply.agents() }
    },
    async autoReplyRuns() {
      return { runs: autoReply.runs.list }
    },
    async autoReplyOff() {
      settings.change({ auto_reply: undefined })
      await autoReply.restart()
      return autoReplyView(undefined, undefined)
    },
    async autoReplyTest({ question = READY_QUESTION, ...given }, signal) {
      const config = tried(given.settings)
      return orRefuse('backend_failed', () => autoReply.test(question, signal, config))
    },
    async autoReplyAttack(given, signal) {
      const config = tried(given.settings)
      return orRefuse('backend_failed', () => autoReply.attack(signal, config))
    },
  }
}
