/** Operations on what this node serves itself: listing it, and trying it as its owner. */
import { renderEffect } from '../../protocol/proof/effect.ts'
import { type Modules, moduleNames } from '../modules/modules.ts'
import { refuse } from '../refusal.ts'
import type { Handlers } from './handlers.ts'

export function capabilityOperations(modules: Modules): Pick<Handlers, 'capabilityList' | 'capabilityTest'> {
  return {
    async capabilityList() {
      return { modules: [...moduleNames], capabilities: modules.list() }
    },
    async capabilityTest({ capability, args = {} }, signal) {
      const provider = modules.find(capability)
      if (provider === undefined)
        return refuse('bad_request', `this node does not serve ${capability}`, 'svc capability ls')
      const effect = await modules.run(provider, { capability, args, caller: undefined, signal })
      return JSON.parse(renderEffect(effect)) as { status: string; message: string }
    },
  }
}
