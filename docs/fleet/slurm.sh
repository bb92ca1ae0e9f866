#!/bin/sh
# Four load generators, one on each node: sbatch slurm.sh
#   dyno run … --agents gen0,gen1,gen2,gen3 --bus tls://bus:4222 \
#       --bus-key bus/coordinator.nk --bus-ca ca.pem
#SBATCH --job-name=dyno-agents
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=01:00:00
exec srun sh -c 'exec dyno agent --join tls://bus.example.org:4222 --name "gen$SLURM_PROCID" \
    --key "$HOME/bus/gen$SLURM_PROCID.nk" --ca "$HOME/bus/ca.pem" --wait 10m'
