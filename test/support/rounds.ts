/** The number of rounds of a random test. `LONGHAUL_TEST_ROUNDS=5`, which .ci/run sets, multiplies it by five. */
export function rounds(fewest: number): number {
  return fewest * Number(process.env.LONGHAUL_TEST_ROUNDS ?? 1);
}
