import { testCells } from './cells.ts'
import { proofs } from './rows/proofs.ts'

testCells(proofs)
