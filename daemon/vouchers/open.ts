/** Opens the gate for vouchers where the settings name an address for it. */
import { systemCode, systemFault } from '../../protocol/encoding/errors.ts'
import type { Context } from '../context.ts'
import type { Modules } from '../modules/modules.ts'
import { type GateParts, VoucherGate } from './gate.ts'
import { GateServer } from './server.ts'

type GateGround = Omit<GateParts, 'modules'> &
  Pick<Context, 'settings' | 'notices' | 'log' | 'now' | 'timers' | 'random' | 'hubNow'>

/** Resolves once it listens; what keeps it from that is a warning, and the node goes on without. */
export async function startVoucherGate(ctx: GateGround, modules: Modules): Promise<AsyncDisposable> {
  const { voucher_addr: listen, voucher_url: url } = ctx.settings.current
  const nothing = { [Symbol.asyncDispose]: async () => undefined }
  if (listen === undefined || url === undefined) return nothing
  const gate = new VoucherGate({ ...ctx, modules }, ctx, ctx.hubNow)
  const server = new GateServer(gate, ctx, { listen, url })
  try {
    await server.start()
  } catch (error) {
    const why = systemFault(systemCode(error) ?? '') ?? String(error)
    ctx.notices.say('vouchers', `no vouchers are taken: ${listen} (voucher_addr) cannot be used: ${why}`)
    ctx.log.error({ err: error }, 'the gate for vouchers does not listen')
    return nothing
  }
  ctx.log.info({ address: server.bound, url }, 'vouchers are taken')
  return { [Symbol.asyncDispose]: () => server.stop() }
}
