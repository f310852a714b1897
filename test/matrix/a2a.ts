/** The A2A interface of a node without its server. */

import type { Serving } from '../../daemon/a2a/own-prices.ts'
import type { PushConfigs } from '../../daemon/a2a/pushes.ts'
import type { Service } from '../../daemon/a2a/service.ts'
import { A2aSettings } from '../../daemon/a2a/settings.ts'
import type { TaskEvents } from '../../daemon/a2a/task-events.ts'
import { Works } from '../../daemon/a2a/works.ts'
import type { Context } from '../../daemon/context.ts'
import { AttachmentLinks } from '../../daemon/control/attachments.ts'
import { taskOperations } from '../../daemon/control/operations.ts'
import type { Payer } from '../../daemon/payments/payer.ts'
import { unfinishedA2aTasks } from '../../daemon/store/a2a.ts'
import type { JsonValue } from '../../protocol/encoding/json.ts'

const never = new AbortController().signal

export class A2a {
  readonly pushes: PushConfigs
  readonly #taskEvents: TaskEvents
  readonly #service: Service

  readonly #store: Context['store']

  constructor(ctx: Context & { modules: Serving & { list(): [] } }, payer: Payer) {
    const reviews = { firstAnswer: async () => {} }
    const node = taskOperations(ctx, { links: new AttachmentLinks({ ...ctx, token: '' }), reviews, payer })
    this.#store = ctx.store
    const operations = {
      delegate: (given: Parameters<typeof node.delegate>[0]) => node.delegate(given, never),
      message: (given: Parameters<typeof node.message>[0]) => node.message(given, never),
      end: (given: Parameters<typeof node.end>[0]) => node.end(given, never),
      cancel: (given: Parameters<typeof node.cancel>[0]) => node.cancel(given, never),
    }
    const settings = new A2aSettings(ctx.dir, ctx.settings, ctx.random)
    const { modules } = ctx
    const { taskEvents, pushes, service } = new Works(ctx, {
      settings,
      modules,
      operations,
      isPaidHere: true,
    })
    this.#taskEvents = taskEvents
    this.pushes = pushes
    this.#service = service
    taskEvents.start()
  }

  async call(name: Parameters<Service['call']>[0], agent: string, params: JsonValue): Promise<object> {
    const outcome = await this.#service.call(name, params, {
      tenant: agent,
      base: 'http://a2a.test',
      lastEventId: undefined,
      means: { payment: undefined, isExtended: false },
      signal: never,
      authority: never,
    })
    return 'reply' in outcome ? outcome.reply : {}
  }

  /** What its loop does by the clock. */
  look(): void {
    for (const { key } of unfinishedA2aTasks(this.#store)) this.#taskEvents.look(key)
  }

  async stop(): Promise<void> {
    await this.#taskEvents.stop()
    await this.pushes.stop()
  }
}
